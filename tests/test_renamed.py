"""Names that users' code may still import."""

from __future__ import annotations

import importlib

import pytest


@pytest.mark.parametrize(
    ("module", "old", "new"),
    [
        ("enpire.improvement.recipe", "Given", "RecipeInputs"),
        ("enpire.environment", "Workcells", "StationBackend"),
        ("enpire.environment", "Eyes", "VerifierCameras"),
        ("enpire.environment", "Sight", "PolicyCameras"),
    ],
)
def test_an_old_name_works_and_says_the_new_one(module: str, old: str, new: str) -> None:
    place = importlib.import_module(module)
    with pytest.warns(FutureWarning, match=f"{old} is called {new} now"):
        assert getattr(place, old) is getattr(place, new)


def test_what_there_never_was_is_not_found() -> None:
    place = importlib.import_module("enpire.improvement.recipe")
    with pytest.raises(AttributeError, match="no attribute 'Taken'"):
        _ = place.Taken


@pytest.mark.parametrize(
    ("old", "new", "name"),
    [
        ("trainer", "behaviour_cloning", "Training"),
        ("training", "training_process", "TrainingRequest"),
    ],
)
def test_a_module_of_another_name_is_found_by_its_old_one(old: str, new: str, name: str) -> None:
    before, now = (importlib.import_module(f"enpire.improvement.{one}") for one in (old, new))
    with pytest.warns(FutureWarning, match=f"improvement.{new} now: import {name} from there"):
        assert getattr(before, name) is getattr(now, name)
    with pytest.raises(AttributeError, match="no attribute 'Taken'"):
        _ = before.Taken
