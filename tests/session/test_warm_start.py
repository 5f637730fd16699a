"""What goes with a policy, demonstrations or a helper that a loop is given."""

from __future__ import annotations

from typing import Any

import pytest

from enpire.errors import UsageError
from enpire.session.warm_start import warm_start_settings


@pytest.mark.parametrize(
    ("given", "recipe"),
    [
        ({}, None),
        ({"images": 0, "helper": ""}, None),
        ({"helper": "keyboard"}, "replay_bc"),
        ({"images": 64}, "dagger"),
        ({"images": 64, "helper": "script"}, "replay_bc"),
        ({"images": 64, "recipe": "bc"}, "bc"),
        ({"helper": "script", "recipe": "rlpd"}, "rlpd"),
    ],
)
def test_who_is_helped_or_sees_learns_from_that(given: dict[str, Any], recipe: str | None) -> None:
    assert warm_start_settings(given).get("recipe") == recipe


def test_a_script_is_no_policy_to_begin_with() -> None:
    with pytest.raises(UsageError, match=r"--demonstrator mine\.py"):
        warm_start_settings({"policy": "mine.py"})


def test_random_actions_are_no_policy_to_begin_with() -> None:
    with pytest.raises(UsageError, match="random actions learn nothing"):
        warm_start_settings({"policy": "random"})


def test_demonstrations_that_are_there_are_not_given_again() -> None:
    made = warm_start_settings({"demonstrations_of": "runs/shown"})
    assert made["demonstrations"] == 0
    assert made["demonstrations_of"].startswith("/")
