"""The verdict on a cut zip tie, from made-up evidence: each condition fails alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from enpire.environment import Evidence, Readings
from enpire.types import Outcome, Verdict

from .test_physics import module, task

PERIOD = 0.04


def readings(
    gap: float = 0.010,
    shift: float = 0.0,
    off: float = 0.0,
    tilt: float = 0.0,
    turned: float = 0.0,
    away: float = 0.045,
    left: tuple[float, float, float] = (0.30, 0.30, 0.25),
) -> Readings:
    """A cut zip tie and a cutter in its stand, or something amiss [m], [rad]."""
    layout, pack = module("layout"), module("task")
    up = Rotation.from_euler("xz", (tilt, turned))
    pivot = pack.STAND_AT + np.array([off, 0.0, layout.STANDING])
    bundle = pack.STRAP_AT + np.array([0.0, 0.025, 0.0])
    moved = bundle + np.array([shift, 0.0, 0.0])
    tags = [
        foot * (1, 1, 0) + (r * np.cos(turn), r * np.sin(turn), height)
        for foot, (r, height) in zip((moved, bundle), layout.RINGS.values(), strict=True)
        for turn in 2 * np.pi / layout.TAGS * np.arange(layout.TAGS)
    ]
    ends = pack.STRAP_AT + np.array([[-gap / 2, 0, 0], [gap / 2, 0, 0]])
    position = np.array([pivot, pivot, *ends, pack.STAND_AT, *tags])
    rotation = np.broadcast_to(np.eye(3), (1, len(position), 3, 3)).copy()
    for jaw, side in ((layout.CUTTER, -1), (layout.JAW, 1)):
        rotation[0, jaw] = (up * Rotation.from_euler("x", 0.2 * side)).as_matrix()
    hand = np.zeros((1, 2, 3))
    hand[0, 0] = left
    hand[0, 1] = pivot + up.apply((0.0, 0.0, layout.GRIP)) - (away, 0.0, 0.0)
    return Readings(
        joints=np.zeros((1, 2, 6)),
        gripper=np.zeros((1, 2)),
        hand_position=hand,
        hand_rotation=np.broadcast_to(layout.HAND, (1, 2, 3, 3)).copy(),
        wrist_force=np.zeros((1, 2, 3)),
        lead=np.zeros((1, 2, 3)),
        position=position[None],
        rotation=rotation,
    )


def judge(*seen: Readings) -> Verdict:
    return task().verify(Evidence(seen, PERIOD))


def test_a_parted_strap_and_a_cutter_put_back_are_a_success() -> None:
    verdict = judge(*[readings()] * 10)
    assert verdict.outcome is Outcome.SUCCESS
    assert verdict.stage == "put_back"
    assert verdict.score == 1.0
    assert not verdict.reason


@pytest.mark.parametrize(
    ("wrong", "name", "stage"),
    [
        ({"gap": 0.003}, "parted", "whole"),
        ({"shift": 0.004}, "bundle_shift", "parted"),
        ({"shift": -0.004}, "bundle_shift", "parted"),
        ({"off": 0.010}, "in_stand", "parted"),
        ({"tilt": 0.4}, "tilt", "parted"),
        ({"turned": 0.4}, "turned", "parted"),
        ({"turned": np.pi / 2, "away": 0.08}, "turned", "parted"),
        ({"away": 0.02}, "hand_away", "parted"),
        ({"left": (0.41, -0.17, 0.18)}, "hand_away", "parted"),
        ({"left": (0.40, -0.03, 0.13)}, "hand_away", "parted"),
    ],
)
def test_each_condition_fails_alone(wrong: dict[str, Any], name: str, stage: str) -> None:
    verdict = judge(*[readings(**wrong)] * 10)
    assert verdict.outcome is Outcome.FAILURE
    assert verdict.failed == (name,)
    assert name in verdict.reason
    assert verdict.stage == stage
    assert verdict.score < 1.0


def test_a_cutter_that_shows_its_other_side_is_the_same() -> None:
    assert judge(*[readings(turned=np.pi)] * 10).outcome is Outcome.SUCCESS


def test_a_cutter_that_was_not_watched_is_not_known_to_stand() -> None:
    assert judge(readings()).failed == ("speed",)


def test_a_cutter_that_still_moves_has_not_been_put_back() -> None:
    seen = [readings(off=0.002 * i - 0.007) for i in range(8)]
    assert judge(*seen).failed == ("speed",)


def test_what_cannot_be_seen_is_no_success() -> None:
    assert judge(*[readings(gap=float("nan"))] * 10).outcome is Outcome.FAILURE
    assert judge(*[readings(off=float("nan"))] * 10).outcome is Outcome.FAILURE


def test_ready_needs_all_that_can_be_seen_at_once() -> None:
    wrong = [{}, {"gap": 0.001}, {"off": 0.02}, {"tilt": 0.5}, {"away": 0.0}]
    seen = [readings(**each) for each in wrong]
    joined = Readings(
        *(np.concatenate([getattr(r, name) for r in seen]) for name in Readings.__slots__)
    )
    assert list(task().ready(joined)) == [True, False, False, False, False]


def test_the_probe_watches_with_open_fingers_and_only_what_looks_done() -> None:
    action = task().verification_action(Evidence([readings()] * 3, PERIOD))
    assert action is not None
    hands = action.reshape(2, 7)
    assert not hands[:, :6].any(), "both hands hold still"
    assert hands[1, 6] > 0.5, "open"
    assert task().verification_action(Evidence([readings()] * 16, PERIOD)) is None
    assert task().verification_action(Evidence([readings(gap=0.0)], PERIOD)) is None, (
        "nothing to watch"
    )
    near = Evidence([readings(away=0.035)], PERIOD)
    assert not task().ready(near.readings[0])[0], "the hand may still go further"
    assert task().verification_action(near) is not None, "and what is far enough is watched"


def test_an_observation_has_its_names_and_knows_the_strap() -> None:
    seen = task().observe(readings(gap=0.010))
    assert seen.shape == (1, len(task().observation_names))
    by_name = dict(zip(task().observation_names, seen[0], strict=True))
    assert by_name["gap_x"] == pytest.approx(2.0)
    assert by_name["opening"] == pytest.approx(1.0, abs=0.02)
    assert by_name["cutter_from_stand_x"] == pytest.approx(0.0, abs=1e-6)
    assert by_name["cutter_near_x"] == pytest.approx(0.0, abs=1e-6)
