"""What is odd about a policy's actions, and about what it is shown."""

from __future__ import annotations

import numpy as np

from enpire.environment.core.policy_watch import PolicyWatch

RNG = np.random.default_rng(0)


def acting(*actions: np.ndarray, moves: tuple[int, ...] = ()) -> str:
    watch = PolicyWatch("mine")
    watch.moves = moves
    for each in actions:
        watch.count(each.astype(np.float32))
    return watch.text


def test_a_policy_that_stops_is_told() -> None:
    lively, still = RNG.uniform(-1, 1, (100, 3)), np.zeros((100, 3))
    told = acting(lively, still, still, still)
    assert "the last 300 of its 400 actions are one and the same" in told
    assert acting(lively, lively, still) == ""


def test_hands_that_hardly_move_are_told() -> None:
    actions = RNG.uniform(-1, 1, (60, 4)) * (0.005, 0.005, 0.005, 1.0)
    assert "moves a hand by more than 0.00" in acting(actions, moves=(0, 1, 2))
    assert acting(actions) == "", "nobody knows what moves a hand"
    assert acting(RNG.uniform(-1, 1, (60, 4)), moves=(0, 1, 2)) == ""


def test_what_hardly_changes_by_its_statistics_is_told() -> None:
    watch = PolicyWatch("mine")
    watch.shown(3.0 + RNG.uniform(-0.02, 0.02, (60, 4)))
    assert "changes by more than 0.04 of what its statistics call a spread" in watch.text
    watch.shown(RNG.uniform(0.0, 2.0, (60, 4)))
    assert watch.text == ""


def test_actions_of_another_unit_are_told_and_a_networks_overshoot_is_not() -> None:
    whole = RNG.choice([-1.0, 1.0], (60, 3))
    assert acting(1.03 * whole) == ""
    assert "beyond [-1, 1], up to 57.3" in acting(57.3 * whole)


def test_a_gripper_that_never_shuts_is_told() -> None:
    actions = RNG.uniform(-1, 1, (300, 4))
    actions[:, 3] = RNG.uniform(0, 1, 300)
    watch = PolicyWatch("mine")
    watch.grips = (3,)
    watch.count(actions.astype(np.float32))
    assert "have a gripper from 0 to 1, and -1 is shut" in watch.text
    assert acting(actions) == "", "nobody knows what moves a gripper"
    watch.count(-actions.astype(np.float32))
    assert watch.text == ""


def test_actions_that_repeat_within_each_chunk_are_told() -> None:
    twice = np.repeat(RNG.uniform(-0.9, 0.9, (40, 4, 3)), 2, axis=1)
    assert "of each of its 40 chunks half or more repeats the action before" in acting(twice)
    assert acting(twice, RNG.uniform(-0.9, 0.9, (1, 8, 3))) == "", "one chunk does not"
