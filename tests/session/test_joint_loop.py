"""A whole loop whose policies set joints: demonstrations, collections, help and comparisons."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import enpire
from enpire.errors import PolicyError
from enpire.policies import BestOfPolicy, base_of
from enpire.store import Run
from enpire.types import Purpose

TASK = "pick_cube@joints"
SMALL: dict[str, Any] = {
    "robots": 2,
    "demonstrations": 3,
    "start_episodes": 2,
    "collect": 4,
    "max_pairs": 2,
    "max_rounds": 1,
    "first_recipe_settings": {"training": {"steps": 10}},
}
RECIPES: dict[str, dict[str, Any]] = {
    "best_of_n": {"warm_steps": 5},
    "recover": {"training": {"steps": 10}},
}


@pytest.mark.medium
@pytest.mark.parametrize("recipe", RECIPES)
def test_a_loop_with_joint_actions(recipe: str, tmp_path: Path) -> None:
    asked = {"recipe": recipe, "recipe_settings": RECIPES[recipe]}
    found = enpire.improve(TASK, run=tmp_path / "run", seed=5, **SMALL, **asked)
    assert (found.task, found.rounds) == (TASK, 1)
    with Run.open(tmp_path / "run") as run:
        episodes = run.episodes()
        newest = run.ledger.policies()[-1].name
    assert {e.purpose for e in episodes} == {*Purpose} - {Purpose.SEALED}
    for episode in episodes:
        assert episode.task == TASK
        assert (episode.observations.shape[1], episode.actions.shape[1]) == (22, 6)
        if episode.shown:  # setpoints and actions differ by a scale and a shift
            for axis in range(6):
                told, sent = episode.actions[:, axis], episode.setpoints[:, axis]
                fitted = np.polyval(np.polyfit(told, sent, 1), told)
                assert np.abs(fitted - sent).max() < 0.02
    policy = enpire.Run(tmp_path / "run").load_policy(newest)
    assert base_of(policy).spec.task == TASK
    if isinstance(policy, BestOfPolicy):
        assert policy.head.spec.margin == 0.0, "it goes nowhere back"
    measured = enpire.evaluate(policy, task=TASK, episodes=2, seed=1)
    assert sum(measured.outcomes.values()) == 2
    with pytest.raises(PolicyError, match="moves hands"):
        enpire.evaluate(policy, task="pick_cube", episodes=2)
