"""Names that users' code may still import."""

from __future__ import annotations

import importlib

import pytest


@pytest.mark.parametrize(
    ("module", "old", "new"),
    [
        ("enpire.improvement.recipe", "Given", "RecipeInputs"),
        ("enpire.improvement.recipe", "Named", "ConfiguredRecipe"),
        ("enpire.environment", "Workcells", "StationBackend"),
    ],
)
def test_an_old_name_works_and_says_the_new_one(module: str, old: str, new: str) -> None:
    place = importlib.import_module(module)
    with pytest.warns(DeprecationWarning, match=f"{old} is called {new} now"):
        assert getattr(place, old) is getattr(place, new)


def test_what_there_never_was_is_not_found() -> None:
    place = importlib.import_module("enpire.improvement.recipe")
    with pytest.raises(AttributeError, match="no attribute 'Taken'"):
        _ = place.Taken
