"""What goes with a policy, demonstrations or a helper that a loop is given."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from enpire.errors import UsageError
from enpire.improvement import recipe_finding as recipes
from enpire.rollout.loop.settings import LoopSettings
from enpire.session.warm_start import require_warm_start, warm_start_settings
from enpire.store import Run
from enpire.types import Purpose
from tests.environment.reach import reach_stations
from tests.policies.lerobots import folder_of
from tests.store.samples import episode


@pytest.mark.parametrize(
    ("given", "recipe"),
    [
        ({}, None),
        ({"images": 0, "helper": ""}, None),
        ({"helper": "keyboard"}, "replay_bc"),
        ({"images": 64}, "state_estimation"),
        ({"images": 64, "helper": "script"}, "replay_bc"),
        ({"images": 64, "recipe": "bc"}, "bc"),
        ({"helper": "script", "recipe": "rlpd"}, "rlpd"),
    ],
)
def test_who_is_helped_or_sees_learns_from_that(given: dict[str, Any], recipe: str | None) -> None:
    assert warm_start_settings(given, "pick_cube").get("recipe") == recipe


@pytest.mark.parametrize(("seen", "recipe"), [(0.5, "state_estimation"), (np.nan, "recover")])
def test_only_a_tracker_can_teach_who_sees(tmp_path: Path, seen: float, recipe: str) -> None:
    shown = episode("e0", 4, purpose=Purpose.DEMONSTRATION)
    shown = replace(shown, observations=np.full_like(shown.observations, seen))
    with Run.create(tmp_path / "shown", {}) as run:
        run.add_episodes([episode("empty", 0, purpose=Purpose.DEMONSTRATION), shown])
    given = {"images": 64, "demonstrations_of": str(tmp_path / "shown")}
    assert warm_start_settings(given, "pick_cube")["recipe"] == recipe


def test_a_script_is_no_policy_to_begin_with() -> None:
    with pytest.raises(UsageError, match=r"--demonstrator mine\.py"):
        warm_start_settings({"policy": "mine.py"}, "pick_cube")


def test_random_actions_are_no_policy_to_begin_with() -> None:
    with pytest.raises(UsageError, match="random actions learn nothing"):
        warm_start_settings({"policy": "random"}, "pick_cube")


def test_demonstrations_that_are_there_are_not_given_again() -> None:
    made = warm_start_settings({"demonstrations_of": "runs/shown"}, "pick_cube")
    assert made["demonstrations"] == 0
    assert made["demonstrations_of"].startswith("/")


def test_pictures_of_an_environment_have_no_tracker_beside_them() -> None:
    assert warm_start_settings({"images": 64}, "gym:Some-v0")["recipe"] == "replay_bc"


def test_a_policy_of_lerobots_is_taught_where_a_tracker_tells_a_teacher(tmp_path: Path) -> None:
    given = {"policy": str(folder_of("act", tmp_path / "act", 6, 3))}
    tasks = "pick_cube", "pick_cube@joints", "gym:Some-v0"
    found = [warm_start_settings(given, task)["recipe"] for task in tasks]
    assert found == ["dagger", "finetune", "finetune"]
    helped = warm_start_settings({**given, "helper": "keyboard"}, "pick_cube")
    assert helped["recipe"] == "finetune", "what somebody does to help is what is learned"


def test_a_recipe_that_does_not_improve_such_a_policy_is_refused_before_a_run(
    tmp_path: Path,
) -> None:
    act = str(folder_of("act", tmp_path / "act", 2, 7))
    settings = LoopSettings.of("reach", policy=act, recipe="rlpd")
    with pytest.raises(UsageError, match=r"--policy .*act: rlpd improves policies of kind 'chunk'"):
        require_warm_start(settings, reach_stations(1), recipes.find("rlpd"))
