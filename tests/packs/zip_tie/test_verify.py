"""The verdict on a zip tie, from made-up evidence: each condition fails alone."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from enpire.environment import Evidence, Readings
from enpire.types import FloatArray, Outcome, Verdict

from .test_physics import module, task

PERIOD = 0.04


def readings(
    depth: float = 0.020, aside: float = 0.0, marks: tuple[float, ...] = (), pull: float = 6.0
) -> Readings:
    """A fastened zip tie, or one that lacks something.

    depth [m] of the tip beyond the slot, its distance aside [m], angles of the marks round the
    bundle [rad], pull on the right wrist [N].
    """
    frames = module("frames")
    head, frame = frames.HEAD_AT, frames.HEAD
    bundle = head + np.array([0.0, -0.030, -0.034])
    tip = head + frame @ (module("strap").SLOT_END + depth, aside, 0.0)
    angles = np.array(marks or np.radians((-30, -120, -210, -290)))
    ring = 0.031 * np.stack([np.zeros(4), np.cos(angles), np.sin(angles)], axis=1)
    position = np.concatenate([[head, tip, bundle], bundle + ring])[None]
    rotation = np.broadcast_to(frame, (1, len(position[0]), 3, 3)).copy()
    force = np.zeros((1, 2, 3))
    force[0, 1] = -pull * frame[:, 0]
    return Readings(
        joints=np.zeros((1, 2, 6)),
        gripper=np.zeros((1, 2)),
        hand_position=np.zeros((1, 2, 3)),
        hand_rotation=np.broadcast_to(np.eye(3), (1, 2, 3, 3)).copy(),
        wrist_force=force,
        lead=np.zeros((1, 2, 3)),
        position=position,
        rotation=rotation,
    )


def judge(*seen: Readings) -> Verdict:
    return task().judge(Evidence(seen, PERIOD))


def test_a_fastened_zip_tie_is_a_success() -> None:
    verdict = judge(*[readings()] * 10)
    assert verdict.outcome is Outcome.SUCCESS
    assert verdict.stage == "fastened"
    assert verdict.score == 1.0
    assert not verdict.reason
    values = {p.name: p.value for p in verdict.predicates}
    assert values["through"] == pytest.approx(20.0)
    assert values["in_line"] == pytest.approx(0.0)
    assert values["holds_pull"] == pytest.approx(6.0)
    assert 0.9 < values["loop_closed"] < 1.1


STRAIGHT: FloatArray = np.radians((48, 45, 40, 35))


@pytest.mark.parametrize(
    ("wrong", "name"),
    [
        ({"depth": 0.014}, "through"),
        ({"depth": -0.020}, "through"),
        ({"aside": 0.007}, "in_line"),
        ({"aside": -0.007}, "in_line"),
        ({"marks": tuple(STRAIGHT)}, "loop_closed"),
        ({"pull": 4.5}, "holds_pull"),
        ({"pull": -20.0}, "holds_pull"),
        ({"pull": float("nan")}, "holds_pull"),
    ],
)
def test_each_condition_fails_alone(wrong: dict[str, float], name: str) -> None:
    verdict = judge(*[readings(**wrong)] * 10)
    assert verdict.outcome is Outcome.FAILURE
    assert verdict.failed == (name,)
    assert name in verdict.reason
    assert verdict.score == pytest.approx(0.75)
    assert verdict.stage != "fastened"


@pytest.mark.parametrize(
    ("depth", "stage"), [(-0.02, "apart"), (0.005, "entered"), (0.016, "through")]
)
def test_the_stage_says_how_far_it_came(depth: float, stage: str) -> None:
    assert judge(*[readings(depth=depth, pull=0.0)] * 10).stage == stage


def test_a_pull_has_to_be_felt_for_a_while() -> None:
    hold = module("verify").HOLD
    weak, strong = readings(pull=0.0), readings()
    assert judge(*[weak] * 5, *[strong] * hold).outcome is Outcome.SUCCESS
    assert judge(*[weak] * 5, *[strong] * (hold - 1)).failed == ("holds_pull",)
    assert judge(*[strong] * 5, weak).failed == ("holds_pull",)


def test_depth_is_what_is_left_after_the_pull() -> None:
    before, after = readings(depth=0.022), readings(depth=0.010)
    assert judge(*[before] * 10, *[after] * 5).failed == ("through",)


def test_the_probe_pulls_the_tail_back_until_it_holds() -> None:
    slack, taut, out = readings(pull=0.0), readings(pull=7.0), readings(depth=-0.01, pull=0.0)
    action = task().probe(Evidence([slack] * 3, PERIOD))
    assert action is not None
    hand = action.reshape(2, 7)
    assert not hand[0, :6].any(), "the left hand holds still"
    assert hand[1, :3] @ module("frames").HEAD[:, 0] < 0, "the right pulls out"
    assert (hand[:, 6] == -1).all(), "both stay shut"
    assert task().probe(Evidence([slack] * 5 + [taut] * 10, PERIOD)) is None
    assert task().probe(Evidence([out], PERIOD)) is None, "nothing to pull at"


def test_ready_needs_the_tip_through_and_in_line() -> None:
    seen = [readings(0.021), readings(0.010), readings(0.021, aside=0.008)]
    joined = Readings(
        *(np.concatenate([getattr(r, name) for r in seen]) for name in Readings.__slots__)
    )
    assert list(task().ready(joined)) == [True, False, False]


def test_an_observation_has_its_names_and_stays_small() -> None:
    nominal = replace(readings(), hand_position=task()._nominal[None])
    seen = task().observe(nominal)
    assert seen.shape == (1, len(task().observation_names))
    assert seen.dtype == np.float32
    by_name = dict(zip(task().observation_names, seen[0], strict=True))
    assert by_name["tip_in_head_x"] == pytest.approx(2.6, abs=1e-4)
    assert by_name["head_x"] == by_name["left_hand_x"] == pytest.approx(0.0, abs=1e-5)
