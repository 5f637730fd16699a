"""The verdict on a block, from made-up evidence: each condition fails alone."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from enpire.environment import Evidence, Readings, Stations, Task
from enpire.types import Outcome
from tests.packs.modules import module

PERIOD = 0.04
PAD = np.array([0.46, -0.08, 0.0])
LIES = 0.020  # height of the middle of a block that lies [m]


def readings(
    x: float = 0.0,
    y: float = 0.0,
    yaw: float = 0.0,
    tilt: float = 0.0,
    raised: float = 0.0,
    hand: float = 0.09,
    opening: float = 0.075,
) -> Readings:
    """A block off the pad's middle by x, y [m], and a hand so high over the bench [m]."""
    block = PAD + np.array([x, y, LIES + raised])
    turn = Rotation.from_euler("z", yaw) * Rotation.from_euler("x", tilt)
    return Readings(
        joints=np.zeros((1, 1, 6)),
        gripper=np.full((1, 1), opening),
        hand_position=np.array([*PAD[:2], hand])[None, None],
        hand_rotation=Rotation.from_euler("x", np.pi).as_matrix()[None, None],
        wrist_force=np.zeros((1, 1, 3)),
        lead=np.zeros((1, 1, 3)),
        position=np.array([block, PAD])[None],
        rotation=np.array([turn.as_matrix(), np.eye(3)])[None],
    )


@pytest.fixture(scope="module")
def task(stations: Stations) -> Task:
    return stations.task


@pytest.mark.parametrize(
    "placed", [{}, {"x": 0.014}, {"x": -0.008, "y": 0.008}, {"x": 0.009, "yaw": np.pi / 4}]
)
def test_a_block_within_the_rim_is_a_success(task: Task, placed: dict[str, float]) -> None:
    verdict = task.verify(Evidence([readings(**placed)] * 10, PERIOD))
    assert verdict.outcome is Outcome.SUCCESS, verdict.reason
    assert (verdict.score, verdict.stage, verdict.reason) == (1.0, "placed", "")


@pytest.mark.parametrize(
    ("wrong", "name"),
    [
        ({"x": 0.016}, "inside"),
        ({"x": -0.010, "y": 0.010}, "inside"),
        ({"x": 0.013, "yaw": np.pi / 4}, "inside"),
        ({"raised": 0.004}, "high"),
        ({"tilt": 0.12}, "tilt"),
        ({"hand": 0.075}, "clear"),
    ],
)
def test_each_condition_fails_alone(task: Task, wrong: dict[str, float], name: str) -> None:
    verdict = task.verify(Evidence([readings(**wrong)] * 10, PERIOD))
    assert verdict.outcome is Outcome.FAILURE
    assert verdict.failed == (name,)
    assert name in verdict.reason


def test_a_block_that_slides_is_not_there_yet(task: Task) -> None:
    sliding = [readings(x=0.0009 * (i - 4.5)) for i in range(10)]  # 22 mm/s
    assert task.verify(Evidence(sliding, PERIOD)).failed == ("still",)


def test_a_failure_scores_more_the_nearer_the_block_is(task: Task) -> None:
    near, far, held = (
        task.verify(Evidence([one] * 10, PERIOD))
        for one in (readings(x=0.03), readings(x=0.2), readings(x=0.2, raised=0.05))
    )
    assert 0.9 > near.score > far.score > 0.0
    assert (near.stage, held.stage) == ("beside", "held")


def test_ready_needs_the_block_on_the_pad_and_let_go(task: Task) -> None:
    seen = [
        readings(),
        readings(opening=0.056),  # may hold it by two edges
        readings(raised=0.005),
        readings(x=0.016),
    ]
    assert list(task.looks_done(Readings.joined(seen))) == [True, False, False, False]


@pytest.mark.parametrize(("opening", "gripper"), [(0.075, 1.0), (0.056, -1.0), (0.040, -1.0)])
def test_the_probe_raises_what_was_not_let_go(task: Task, opening: float, gripper: float) -> None:
    first = readings(opening=opening)
    action = task.verification_action(Evidence([first], PERIOD))
    assert action is not None
    assert action.tolist() == [0, 0, 1, 0, 0, 0, gripper]
    last = module(task, "verify").LAST
    still = task.verification_action(Evidence([first] * 28, PERIOD))
    assert still is not None
    assert not still[:6].any()
    whole = round(task.probe_limit / PERIOD)
    assert task.verification_action(Evidence([first] * whole, PERIOD)) is None
    assert whole > last


def test_millimetres_are_seen_large_along_the_hand(task: Task) -> None:
    names = task.observation_names
    seen = dict(zip(names, task.observe(readings(x=0.005, y=-0.01))[0], strict=True))
    opening = readings().hand_rotation[0, 0, :2, 0]
    np.testing.assert_allclose(opening, [1, 0], atol=1e-9)
    assert seen["block_near_opening"] == pytest.approx(np.tanh(1.0), abs=1e-6)
    assert abs(seen["pad_near_across"]) == pytest.approx(np.tanh(1.0), abs=1e-6)
    assert seen["block_turn_cos"] == pytest.approx(1.0)
