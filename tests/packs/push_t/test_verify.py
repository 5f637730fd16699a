"""The verdict on a pushed T, from made-up evidence: each condition fails alone."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from enpire.environment import Evidence, Readings
from enpire.types import Outcome, Verdict

from .modules import module, task

PERIOD = 0.08
GOAL, CLEAR = module("geometry").GOAL, module("geometry").CLEAR
TAGS = module("geometry").TAGS


def readings(
    x: float = 0.0,
    yaw: float = 0.0,
    height: float = CLEAR + 0.01,
    tilt: float = 0.0,
    flipped: bool = False,
    aside: float = 0.0,
    high: float = 0.0,
) -> Readings:
    """A block at its goal with the hand lifted, or one that is off: x [m], yaw and tilt [rad].

    aside: y of the hand [m]. high: of the block over the bench [m].
    """
    turn = Rotation.from_euler("z", GOAL[2] + yaw) * Rotation.from_euler("x", tilt)
    if flipped:
        turn = turn * Rotation.from_euler("y", np.pi)
    hand = np.array([GOAL[0], aside, height])
    return Readings(
        joints=np.zeros((1, 1, 5)),
        gripper=np.zeros((1, 1)),
        hand_position=hand[None, None],
        hand_rotation=Rotation.from_euler("x", np.pi).as_matrix()[None, None],
        wrist_force=np.zeros((1, 1, 3)),
        lead=np.zeros((1, 1, 3)),
        position=(np.array([GOAL[0] + x, GOAL[1], 0.01 + high]) + turn.apply(TAGS))[None],
        rotation=np.broadcast_to(turn.as_matrix(), (1, len(TAGS), 3, 3)),
    )


def judge(*seen: Readings) -> Verdict:
    return task().verify(Evidence(seen, PERIOD))


@pytest.mark.parametrize("flipped", [False, True])
def test_a_block_on_its_outline_is_a_success(flipped: bool) -> None:
    verdict = judge(*[readings(flipped=flipped)] * 8)
    assert verdict.outcome is Outcome.SUCCESS
    assert verdict.predicates[0].value == pytest.approx(1.0)
    assert (verdict.score, verdict.stage, verdict.reason) == (1.0, "covered", "")


@pytest.mark.parametrize(
    ("wrong", "name"),
    [
        ({"x": 0.005}, "covered"),
        ({"yaw": 0.12}, "covered"),
        ({"yaw": np.pi}, "covered"),
        ({"height": CLEAR - 0.001}, "clear"),
        ({"tilt": 0.12}, "flat"),
        ({"high": 0.05}, "on_bench"),
        ({"x": float("nan")}, "covered"),
    ],
)
def test_each_condition_fails_alone(wrong: dict[str, float], name: str) -> None:
    verdict = judge(*[readings(**wrong)] * 8)
    assert verdict.outcome is Outcome.FAILURE
    assert name in verdict.failed
    assert name in verdict.reason
    if np.isfinite(list(wrong.values())).all():
        assert verdict.failed == (name,)


def test_a_block_that_slides_is_not_there_yet() -> None:
    last = module("verify").LAST
    moves = 0.0009 * (np.arange(last) - (last - 1) / 2)  # 11 mm/s through its goal
    sliding = [readings(x=x) for x in moves]
    assert judge(*sliding).failed == ("still",)


def test_the_score_is_the_covered_share_of_what_is_asked_for() -> None:
    verdict = judge(*[readings(yaw=np.pi)] * 8)
    assert verdict.score == pytest.approx(19 / 49 / 0.9017)
    assert verdict.stage == "near"
    assert judge(*[readings(x=0.2)] * 8).score == 0.0
    assert judge(*[readings(height=0.02)] * 8).score == 1.0, "covered, but not let go"


def test_noise_of_the_tracker_is_averaged_out() -> None:
    """Single readings that cover too little, on either side of the goal."""
    seen = [readings(x=0.006 * (-1) ** i) for i in range(8)]
    verdict = judge(*seen)
    assert verdict.predicates[0].value > 0.95
    assert "covered" in judge(seen[0]).failed


def test_one_tag_seen_wrongly_counts_a_twenty_eighth() -> None:
    off = readings()
    off.position[0, 3] += (0.028, 0.0, 0.0)
    pose = module("geometry").block_pose(off)[0]
    np.testing.assert_allclose(pose, GOAL + np.array([0.001, 0.0, 0.0]), atol=1e-9)


def test_ready_needs_the_hand_lifted_and_the_outline_covered() -> None:
    seen = [readings(), readings(height=0.045), readings(x=0.005), readings(yaw=np.pi)]
    joined = Readings(
        *(np.concatenate([getattr(r, name) for r in seen]) for name in Readings.__slots__)
    )
    assert list(task().ready(joined)) == [True, False, False, False]


def test_the_probe_lifts_the_hand_straight_up_and_out_of_the_way_and_looks() -> None:
    low, high, away = readings(height=0.02), readings(), readings(aside=0.14)
    action = task().verification_action(Evidence([low], PERIOD))
    assert action is not None
    assert action[2] == 1
    assert not action[[0, 1, 3, 4, 5]].any()
    assert action[6] == -1
    waiting = task().verification_action(Evidence([low, high], PERIOD))
    assert waiting is not None
    assert waiting[1] > 0.5  # away from the one camera, and past the block for the other
    assert not waiting[[0, 2, 3, 4, 5]].any()  # far out a wrist would come to its stop higher up
    last = module("verify").LAST
    assert task().verification_action(Evidence([high] * last, PERIOD)) is not None, (
        "still in the way"
    )
    assert (
        task().verification_action(Evidence([high] * 5 + [away] * (last - 6), PERIOD)) is not None
    )
    assert (
        task().verification_action(Evidence([low] + [high] * 5 + [away] * (last - 5), PERIOD))
        is None
    )


def test_an_observation_has_its_names() -> None:
    seen = task().observe(readings(x=0.05))
    assert seen.shape == (1, len(task().observation_names))
    assert seen.dtype == np.float32
    by_name = dict(zip(task().observation_names, seen[0], strict=True))
    assert by_name["block_x"] == pytest.approx(1.0)
    assert by_name["block_cos"] == pytest.approx(1.0)
    assert by_name["goal_in_block_x"] == pytest.approx(-np.sqrt(0.5), abs=1e-6)
    assert by_name["goal_in_block_y"] == pytest.approx(np.sqrt(0.5), abs=1e-6)


def test_millimetres_near_the_goal_are_seen_large() -> None:
    names, near = task().observation_names, readings(x=0.004, yaw=0.08)
    seen = [dict(zip(names, task().observe(r)[0], strict=True)) for r in (readings(), near)]
    at, off = seen
    assert [at[name] for name in ("near_x", "near_y", "near_yaw")] == pytest.approx([0, 0, 0])
    assert min(abs(off[name]) for name in ("near_x", "near_y", "near_yaw")) > 0.3
    assert off["off"] - at["off"] > 2
    far = dict(zip(names, task().observe(readings(x=0.1, yaw=1.5))[0], strict=True))
    assert max(abs(far[name]) for name in ("near_x", "near_y", "near_yaw")) <= 1
