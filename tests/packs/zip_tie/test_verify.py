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
    depth: float = 0.020,
    aside: float = 0.0,
    marks: tuple[float, ...] = (),
    along: tuple[float, ...] = (),
    pull: float = 6.0,
) -> Readings:
    """A fastened zip tie, or one that lacks something.

    depth [m] of the tip beyond the slot, its distance aside [m], angles of the marks round the
    bundle and of the strap's direction there [rad], pull on the right wrist [N].
    """
    frames = module("frames")
    head, frame = frames.HEAD_AT, frames.HEAD
    bundle = head + np.array([0.0, -0.030, -0.034])
    tip = head + frame @ (module("strap").SLOT_END + depth, aside, 0.0)
    angles = np.array(marks or np.radians((-30, -120, -210, -290)))
    ring = 0.031 * np.stack([np.zeros(4), np.cos(angles), np.sin(angles)], axis=1)
    position = np.concatenate([[head, tip, bundle], bundle + ring])[None]
    rotation = np.broadcast_to(frame, (1, len(position[0]), 3, 3)).copy()
    forward = np.array(along or angles - np.pi / 2)  # by default round the bundle, clockwise
    zero, one = np.zeros(4), np.ones(4)
    x = np.stack([zero, np.cos(forward), np.sin(forward)], axis=1)
    y = np.stack([one, zero, zero], axis=1)
    rotation[0, 3:] = np.stack([x, y, np.cross(x, y)], axis=2)
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


REST = module("verify").REST
ENOUGH = 7 + REST  # readings: until the pull has been long enough, and after the hand has let go


def test_a_fastened_zip_tie_is_a_success() -> None:
    verdict = judge(*[readings()] * ENOUGH)
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
    verdict = judge(*[readings(**wrong)] * ENOUGH)
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
    after = [weak] * REST
    assert judge(*[weak] * 5, *[strong] * hold, *after).outcome is Outcome.SUCCESS
    assert judge(*[weak] * 5, *[strong] * (hold - 1), *after).failed == ("holds_pull",)


def test_a_pull_that_does_not_grow_counts_for_what_it_is() -> None:
    periods = round(module("verify").PULL_TIME[1] / PERIOD) + 2 + REST
    assert judge(*[readings(pull=5.5)] * periods).outcome is Outcome.SUCCESS
    assert judge(*[readings(pull=4.5)] * periods).failed == ("holds_pull",)


def test_nothing_is_fastened_before_the_hand_has_let_go_and_the_tail_stays() -> None:
    held, slid = readings(), readings(depth=0.010, pull=0.0)
    for count in range(1, ENOUGH):
        assert judge(*[held] * count).failed == ("holds_pull",), count
    assert judge(*[held] * (ENOUGH - 5), *[slid] * 5).failed == ("through",)


def test_the_probe_pulls_the_tail_back_then_lets_it_go() -> None:
    slack, taut, out = readings(pull=0.0), readings(pull=7.0), readings(depth=-0.01, pull=0.0)
    action = task().probe(Evidence([slack] * 3, PERIOD))
    assert action is not None
    hand = action.reshape(2, 7)
    assert not hand[0, :6].any(), "the left hand holds still"
    assert hand[1, :3] @ module("frames").HEAD[:, 0] < 0, "the right pulls out"
    assert (hand[:, 6] == -1).all(), "both stay shut"
    for after in range(REST):
        action = task().probe(Evidence([slack] * 5 + [taut] * 3 + [slack] * after, PERIOD))
        assert action is not None
        hand = action.reshape(2, 7)
        assert hand[0, 6] == -1
        assert hand[1, 6] > -0.5, "the right one lets go"
        assert not hand[:, :6].any()
    assert task().probe(Evidence([slack] * 5 + [taut] * 3 + [slack] * REST, PERIOD)) is None
    assert task().probe(Evidence([out], PERIOD)) is None, "nothing to pull at"


def test_the_probe_is_through_before_its_time_is_over() -> None:
    seen = [readings(pull=1.0)]
    while task().probe(Evidence(seen, PERIOD)) is not None:
        seen.append(readings(pull=1.0))
    assert Evidence(seen, PERIOD).elapsed < task().probe_limit


# The third mark below the bundle, the fourth above it: half a turn one way, or the other.
OPPOSITE = tuple(np.radians((20, -35, -95, -273)))
BEHIND = tuple(np.radians((-70, -125, 185, -3)))  # the strap's direction at the marks
BEFORE = tuple(np.radians((-70, -125, 5, 183)))
THROUGH = tuple(np.radians((-70, -125, 90, 90)))


@pytest.mark.parametrize("off", np.radians((-3, 0, 3)))
def test_which_way_half_a_turn_goes_is_seen_from_the_straps_direction(off: float) -> None:
    turns = module("verify").turns

    def seen(along: tuple[float, ...]) -> float:
        marks = (*OPPOSITE[:3], OPPOSITE[3] + off)
        fastened = readings(marks=marks, along=along)
        return float(turns(fastened.position[0], fastened.rotation[0]))

    assert seen(BEHIND) > 0.9
    assert seen(BEFORE) < 0.1
    assert seen(THROUGH) == 0.0, "through the bundle: not known"


def test_the_truth_counts_turns_by_itself() -> None:
    winding = module("truth").winding
    angles = np.radians(np.arange(10, -360, -30))
    ring = 0.03 * np.stack([np.cos(angles), np.sin(angles)], axis=1)
    assert winding(ring) == pytest.approx(1.0, abs=0.1)
    assert winding(ring + np.array([0.05, 0.0])) == pytest.approx(0.0, abs=0.1), "beside the bundle"
    assert winding(ring[:5]) == pytest.approx(1 / 3)


@pytest.mark.parametrize(("along", "closed"), [(-0.034, True), (-0.036, False), (0.036, False)])
def test_a_loop_beyond_the_bundles_ends_is_none(along: float, closed: bool) -> None:
    """Though it goes round the bundle's axis; the plane of one that leans may pass the end."""
    seen = readings()
    for lean in (0.0, 0.4):
        position = seen.position.copy()
        tie = [0, 1, 3, 4, 5, 6]
        off = position[:, tie] - position[:, 2:3]
        position[:, tie, 0] += along + lean * off[..., 1] - lean * off[..., 2]
        verdict = judge(*[replace(seen, position=position)] * ENOUGH)
        assert ("loop_closed" in verdict.failed) is not closed, lean


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
