"""A file of somebody's own as a policy on stations of a task pack."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from enpire.environment.gym_bridge.scripted_policy import ScriptedPolicy
from enpire.errors import PolicyError, UsageError

STATIONS: Any = SimpleNamespace(action_size=2)
ROWS = np.array([0, 3])
SEEN = np.arange(6, dtype=np.float32).reshape(2, 3)
COUNTING = """
def begin(task):
    seen = []
    def act(observation):
        seen.append(observation)
        return [len(seen) / 10, observation[0]]
    return act
"""


def act(policy: ScriptedPolicy) -> list[list[float]]:
    readings: Any = None
    actions: list[list[float]] = policy.act(ROWS, SEEN, readings).tolist()
    return actions


def test_each_episode_has_a_script_of_its_own(tmp_path: Path) -> None:
    path = tmp_path / "counting.py"
    path.write_text(COUNTING)
    policy = ScriptedPolicy(str(path), STATIONS)
    for row in ROWS.tolist():
        policy.begin(row, np.random.default_rng(0), 0.0)
    np.testing.assert_allclose(act(policy), [[0.1, 0.0], [0.1, 1.0]])  # 3 is beyond an action
    policy.begin(3, np.random.default_rng(0), 0.0)
    np.testing.assert_allclose(act(policy), [[0.2, 0.0], [0.1, 1.0]])


def test_an_action_of_another_shape(tmp_path: Path) -> None:
    path = tmp_path / "short.py"
    path.write_text("def act(observation): return observation[:1]")
    policy = ScriptedPolicy(str(path), STATIONS)
    for row in ROWS.tolist():
        policy.begin(row, np.random.default_rng(0), 0.0)
    with pytest.raises(PolicyError, match=r"short\.py: an action has shape \(1,\), not \(2,\)"):
        act(policy)


def test_a_script_that_fails_says_in_which_line(tmp_path: Path) -> None:
    path = tmp_path / "torn.py"
    path.write_text("def act(observation):\n    return observation[7]\n")
    policy = ScriptedPolicy(str(path), STATIONS)
    for row in ROWS.tolist():
        policy.begin(row, np.random.default_rng(0), 0.0)
    with pytest.raises(PolicyError, match=r"torn\.py:2: IndexError: "):
        act(policy)


def test_a_file_without_a_function(tmp_path: Path) -> None:
    path = tmp_path / "empty.py"
    path.write_text("")
    with pytest.raises(UsageError, match="neither begin"):
        ScriptedPolicy(str(path), STATIONS)
