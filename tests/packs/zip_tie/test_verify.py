"""The verdict on a zip tie, from made-up evidence: each condition fails alone."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from enpire.environment import Evidence, Readings
from enpire.types import FloatArray, Outcome, Verdict

from .test_physics import module, task

PERIOD = 0.04
HOLDING, OFF = (0.0096, 0.0012), (0.045, 0.0225)  # openings [m]


def readings(
    depth: float = 0.020,
    aside: float = 0.0,
    marks: tuple[float, ...] = (),
    along: tuple[float, ...] = (),
    pull: float = 6.0,
    slope: float = 0.0,
    above: float = 0.0,
    openings: tuple[float, float] = HOLDING,
    left: tuple[float, float, float] = (0.0, 0.0, 0.0),
    right: float = 0.0,
) -> Readings:
    """A fastened zip tie, or one that lacks something.

    depth [m] of the tip beyond the slot, its distance aside [m], angles of the marks round the
    bundle and of the strap's direction there [rad], pull on the right wrist [N]. slope of the tail
    [rad], and how high it is above the slot's axis at the tip [m]. openings of the hands [m]; how
    far the left one is from the head, and the right one along the tail from its place [m].
    """
    frames = module("frames")
    head, frame = frames.HEAD_AT, frames.HEAD
    bundle = head + np.array([0.0, -0.030, -0.034])
    tip = head + frame @ (module("strap").SLOT_END + depth, aside, above)
    angles = np.array(marks or np.radians((-30, -120, -210, -290)))
    ring = 0.031 * np.stack([np.zeros(4), np.cos(angles), np.sin(angles)], axis=1)
    position = np.concatenate([[head, tip, bundle], bundle + ring])[None]
    rotation = np.broadcast_to(frame, (1, len(position[0]), 3, 3)).copy()
    forward = np.array(along or angles - np.pi / 2)  # by default round the bundle, clockwise
    zero, one = np.zeros(4), np.ones(4)
    x = np.stack([zero, np.cos(forward), np.sin(forward)], axis=1)
    y = np.stack([one, zero, zero], axis=1)
    rotation[0, 1] = frame @ Rotation.from_euler("y", -slope).as_matrix()
    held = tip - (module("strap").GRASP + right) * rotation[0, 1, :, 0]
    rotation[0, 3:] = np.stack([x, y, np.cross(x, y)], axis=2)
    force = np.zeros((1, 2, 3))
    force[0, 1] = -pull * frame[:, 0]
    return Readings(
        joints=np.zeros((1, 2, 6)),
        gripper=np.array([openings]),
        hand_position=np.array([[head + frame @ left, held]]),
        hand_rotation=np.broadcast_to(np.eye(3), (1, 2, 3, 3)).copy(),
        wrist_force=force,
        lead=np.zeros((1, 2, 3)),
        position=position,
        rotation=rotation,
    )


def judge(*seen: Readings) -> Verdict:
    return task().verify(Evidence(seen, PERIOD))


REST = module("verify").AFTER + module("verify").REST
PULLED = 7  # readings until the pull has been long enough


def probed(**wrong: Any) -> list[Readings]:
    """A whole probe: a pull, and a rest with both hands off unless something else is asked for."""
    return [readings(**wrong)] * PULLED + [readings(**({"openings": OFF} | wrong))] * REST


def test_a_fastened_zip_tie_is_a_success() -> None:
    verdict = judge(*probed())
    assert verdict.outcome is Outcome.SUCCESS
    assert verdict.stage == "fastened"
    assert verdict.score == 1.0
    assert not verdict.reason
    values = {p.name: p.value for p in verdict.predicates}
    assert values["through"] == pytest.approx(20.0)
    assert values["in_slot"] == pytest.approx(-1.7)
    assert values["hands_off"] == pytest.approx(5.0)
    assert values["holds_pull"] == pytest.approx(6.0)
    assert 0.9 < values["loop_closed"] < 1.1


STRAIGHT: FloatArray = np.radians((48, 45, 40, 35))


@pytest.mark.parametrize(
    ("wrong", "name"),
    [
        ({"depth": 0.0151}, "through"),
        ({"depth": -0.020}, "through"),
        ({"aside": 0.007}, "in_slot"),
        ({"aside": -0.007}, "in_slot"),
        ({"above": 0.0058}, "in_slot"),
        ({"above": -0.0058}, "in_slot"),
        ({"above": -0.0005, "slope": -0.25}, "in_slot"),
        ({"openings": HOLDING}, "hands_off"),
        ({"left": (0.018, 0.0, 0.0)}, "holds_pull"),
        ({"right": 0.013}, "holds_pull"),
        ({"marks": tuple(STRAIGHT)}, "loop_closed"),
        ({"pull": 4.5}, "holds_pull"),
        ({"pull": -20.0}, "holds_pull"),
        ({"pull": float("nan")}, "holds_pull"),
    ],
)
def test_each_condition_fails_alone(wrong: dict[str, Any], name: str) -> None:
    verdict = judge(*probed(**wrong))
    assert verdict.outcome is Outcome.FAILURE
    assert verdict.failed == (name,)
    assert name in verdict.reason
    assert verdict.score == pytest.approx(5 / 6)
    assert verdict.stage != "fastened"


@pytest.mark.parametrize(
    ("depth", "stage"), [(-0.02, "apart"), (0.005, "entered"), (0.016, "through")]
)
def test_the_stage_says_how_far_it_came(depth: float, stage: str) -> None:
    assert judge(*[readings(depth=depth, pull=0.0)] * 10).stage == stage


@pytest.mark.parametrize("sprung", [1, 3])
def test_a_tail_that_springs_out_while_it_is_looked_at_is_not_through(sprung: int) -> None:
    """As seen by a late tracker: deep on average, and out by then."""
    out = readings(depth=0.0058, openings=OFF)
    verdict = judge(*probed(depth=0.028)[:-sprung], *[out] * sprung)
    assert verdict.failed == ("through",)
    noisy = readings(depth=0.0275, openings=OFF)
    assert judge(*probed(depth=0.028)[:-1], noisy).outcome is Outcome.SUCCESS


def test_a_pull_has_to_be_felt_for_a_while() -> None:
    hold = module("verify").HOLD
    weak, strong = readings(pull=0.0), readings()
    after = [readings(pull=0.0, openings=OFF)] * REST
    assert judge(*[weak] * 5, *[strong] * hold, *after).outcome is Outcome.SUCCESS
    assert judge(*[weak] * 5, *[strong] * (hold - 1), *after).failed == ("holds_pull",)


def test_a_pull_that_does_not_grow_counts_for_what_it_is() -> None:
    periods = round(module("verify").PULL_TIME[1] / PERIOD) + 2
    after = [readings(openings=OFF)] * REST
    assert judge(*[readings(pull=5.3)] * periods, *after).outcome is Outcome.SUCCESS
    assert judge(*[readings(pull=4.5)] * periods, *after).failed == ("holds_pull",)


def test_nothing_is_fastened_before_both_hands_are_off_and_the_tail_stays() -> None:
    whole = probed()
    for count in range(1, len(whole)):
        assert "holds_pull" in judge(*whole[:count]).failed, count
    slid = readings(depth=0.010, pull=0.0, openings=OFF)
    assert judge(*whole[:-5], *[slid] * 5).failed == ("through",)


def test_a_hand_that_is_not_as_far_open_as_on_what_it_is_to_hold_pulls_at_something_else() -> None:
    for openings in ((0.0012, 0.0012), (0.0096, 0.0096), (0.0225, 0.0012), (0.0096, 0.0)):
        pulled = [readings(openings=openings)] * PULLED
        rest = [readings(openings=OFF)] * (REST + 60)
        assert judge(*pulled, *rest).failed == ("holds_pull",), openings


@pytest.mark.parametrize("turned", [-25.0, 0.0, 25.0])
def test_cameras_know_the_pull_however_the_head_lies_in_the_hand(turned: float) -> None:
    """By the left hand's slot alone 5.5 N would be 4.98 N with a head turned by 25 degrees."""
    frames, verify = module("frames"), module("verify")
    turn = Rotation.from_euler("x", turned, degrees=True).as_matrix()
    hands = np.array([[turn @ frames.hand_rotation(arm) for arm in (0, 1)]])
    seen = [replace(r, hand_rotation=hands).untracked() for r in probed(pull=5.5)]
    assert verify._held_until_opened(Evidence(seen, PERIOD)) == pytest.approx(5.5)


def test_the_probe_pulls_the_tail_back_then_lets_it_go() -> None:
    slack, taut, out = readings(pull=0.0), readings(pull=7.0), readings(depth=-0.01, pull=0.0)
    action = task().verification_action(Evidence([slack] * 3, PERIOD))
    assert action is not None
    hand = action.reshape(2, 7)
    assert not hand[0, :6].any(), "the left hand holds still"
    assert hand[1, :3] @ module("frames").HEAD[:, 0] < 0, "the right pulls out"
    assert (hand[:, 6] == -1).all(), "both stay shut"
    assert hand[1, :3] @ module("frames").HEAD[:, 0] < probe_pull(6.0) < 0, "gently near its force"
    frees, lets_go = module("verify").FREE, module("verify").AFTER
    away = -slack.hand_rotation[0, 1, :, 2]
    for after in range(REST):
        action = task().verification_action(
            Evidence([slack] * 5 + [taut] * 3 + [slack] * after, PERIOD)
        )
        assert action is not None
        hand = action.reshape(2, 7)
        assert (hand[0, 6] == -1) == (after < lets_go), "the left one lets go of the head later"
        assert hand[1, 6] > -0.5, "the right one lets go"
        draws_back = np.zeros(6) if after < frees else [*away, 0, 0, 0]
        np.testing.assert_allclose(hand[1, :6], draws_back, atol=1e-6)
        sets_down = frees <= after < lets_go
        assert hand[0, :6].any() == sets_down, "the left one brings the head down meanwhile"
    assert (
        task().verification_action(Evidence([slack] * 5 + [taut] * 3 + [slack] * REST, PERIOD))
        is None
    )
    assert task().verification_action(Evidence([out], PERIOD)) is None, "nothing to pull at"


def probe_pull(force: float) -> float:
    """The probe's way along the slot in a period, in full actions, where it feels a force [N]."""
    action = task().verification_action(Evidence([readings(pull=force)], PERIOD))
    assert action is not None
    return float(action.reshape(2, 7)[1, :3] @ module("frames").HEAD[:, 0])


def test_the_probe_is_through_before_its_time_is_over() -> None:
    seen = [readings(pull=1.0)]
    while task().verification_action(Evidence(seen, PERIOD)) is not None:
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


@pytest.mark.parametrize(("along", "closed"), [(-0.034, True), (-0.036, False), (0.036, False)])
def test_a_loop_beyond_the_bundles_ends_is_none(along: float, closed: bool) -> None:
    """Though it goes round the bundle's axis; the plane of one that leans may pass the end."""
    seen = readings()
    for lean in (0.0, 0.4):
        position = seen.position.copy()
        tie = [0, 1, 3, 4, 5, 6]
        from_bundle = position[:, tie] - position[:, 2:3]
        position[:, tie, 0] += along + lean * (from_bundle[..., 1] - from_bundle[..., 2])
        hands = seen.hand_position + (position[:, :1] - seen.position[:, :1])
        moved = replace(seen, position=position, hand_position=hands)
        off = replace(moved, gripper=np.array([OFF]))
        verdict = judge(*[moved] * PULLED, *[off] * REST)
        assert ("loop_closed" in verdict.failed) is not closed, lean


@pytest.mark.parametrize(("along", "stays"), [(-0.019, True), (-0.025, False), (0.025, False)])
def test_a_loop_that_swings_near_an_end_of_the_bundle_may_slip_off(
    along: float, stays: bool
) -> None:
    """Poses twice as far out: two of 72 loops that were seen closed slipped off afterwards."""
    off, swung = readings(openings=OFF), moved_along(along)
    verdict = judge(*[readings()] * PULLED, *[off] * (REST - 1), swung)
    assert verdict.failed == (() if stays else ("on_bundle",))


@pytest.mark.parametrize(("along", "stays"), [(-0.034, True), (-0.037, False), (0.037, False)])
def test_a_loop_that_was_seen_to_turn_goes_no_further(along: float, stays: bool) -> None:
    """Which of two readings beside the end of its way is the farther one says nothing yet."""
    verify = module("verify")
    turned = [0.4, 0.8, 1.0, *[0.5] * (verify.SWINGING - 5), 0.1, 0.0]
    seen = [moved_along(share * along) for share in turned]
    before = [readings(openings=OFF)] * (REST - len(seen))
    verdict = judge(*[readings()] * PULLED, *before, *seen)
    assert verdict.failed == (() if stays else ("on_bundle",))
    verdict = judge(*[readings()] * PULLED, *before, *seen[1:], seen[-1])
    assert verdict.failed == ("on_bundle",), "it may have come from farther out"


@pytest.mark.parametrize(
    ("along", "swings", "stays"),
    [
        (-0.031, 0.0, True),
        (0.026, 0.002, True),
        (-0.037, 0.0, False),
        (-0.031, 0.010, False),
    ],
)
def test_a_loop_that_stands_still_stays_where_it_is(
    along: float, swings: float, stays: bool
) -> None:
    """Five of 117 loops stood 20 to 26 mm from the middle, and stayed."""
    inner = moved_along(along - np.copysign(swings, along))
    verdict = judge(*[readings()] * PULLED, *[moved_along(along), inner] * (REST // 2 + 1))
    assert ("on_bundle" not in verdict.failed) is stays


def leaning(lean: float) -> Readings:
    """A loop that slopes so much along y and z, hands off."""
    off = readings(openings=OFF)
    position = off.position.copy()
    tie = [0, 1, 3, 4, 5, 6]
    from_bundle = position[:, tie] - position[:, 2:3]
    position[:, tie, 0] += lean * (from_bundle[..., 1] - from_bundle[..., 2])
    leans = module("frames").leans(module("frames").plane((position - position[:, 2:3])[0, tie]))
    assert leans == pytest.approx(np.arctan(np.sqrt(2) * lean), abs=0.01)
    hands = off.hand_position + (position[:, :1] - off.position[:, :1])
    return replace(off, position=position, hand_position=hands)


@pytest.mark.parametrize(("lean", "stays"), [(0.5, True), (1.0, False)])
def test_a_loop_that_leans_too_far_may_tip_over(lean: float, stays: bool) -> None:
    """Poses twice as far out: one that leaned by 48 degrees, in the bundle's middle, was off."""
    verdict = judge(*[readings()] * PULLED, *[leaning(lean)] * REST)
    assert ("on_bundle" not in verdict.failed) is stays


@pytest.mark.parametrize(("lean", "stays"), [(0.30, True), (0.45, False)])
def test_a_loop_whose_lean_changes_tumbles_and_may_be_off_later(lean: float, stays: bool) -> None:
    """From 0.27 rad to 0.40 it sways; poses twice as far out, those that went to 0.57 were off."""
    seen = [leaning(0.2), leaning(lean)] * (REST // 2 + 1)
    verdict = judge(*[readings()] * PULLED, *seen[-REST:])
    assert ("on_bundle" not in verdict.failed) is stays


def test_cameras_watch_how_the_loop_swings_twice_before_they_look() -> None:
    """A quarter of a period apart or more: one of three looks is near an end of its way."""
    whole = probed()
    asked = [n for n in range(1, len(whole)) if task().watch(Evidence(whole[:n], PERIOD))]
    last = next(
        n for n in range(1, 99) if task().verification_action(Evidence(whole[:n], PERIOD)) is None
    )
    assert [PERIOD * (last - n) for n in asked] == pytest.approx([0.48, 0.24])
    slack = [readings(pull=0.0)] * PULLED
    assert not task().watch(Evidence(slack, PERIOD)), "a hand that has not let go"


def moved_along(along: float) -> Readings:
    """A tie that hands have let go of, that far along the bundle [m]."""
    off = readings(openings=OFF)
    near = off.position.copy()
    near[:, [0, 1, 3, 4, 5, 6], 0] += along
    hands = off.hand_position + (near[:, :1] - off.position[:, :1])
    return replace(off, position=near, hand_position=hands)


def test_ready_needs_the_tip_through_and_in_line() -> None:
    seen = [readings(0.026), readings(0.010), readings(0.026, above=0.0058)]
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


def test_a_millimetre_beside_the_slot_is_plain_to_see() -> None:
    names = list(task().observation_names)
    on, beside = (task().observe(readings(-0.012, above=off))[0] for off in (0.0, 0.001))
    assert on[names.index("tip_near_mouth")] == pytest.approx(0.0, abs=1e-6)
    assert on[names.index("tip_near_z")] == pytest.approx(0.0, abs=1e-6)
    assert beside[names.index("tip_near_z")] > 0.5
    assert beside[names.index("tip_in_head_z")] == pytest.approx(0.1, abs=1e-5)


@pytest.mark.parametrize(("along", "brought"), [(0.008, True), (-0.065, False)])
def test_a_head_is_turned_upright_over_the_middle_before_it_goes_down(
    along: float, brought: bool
) -> None:
    """One before the bundle's free end goes round nothing, and stays there."""
    down, frames = module("setting_down"), module("frames")
    turned = Rotation.from_rotvec((0.0, 0.2, 0.0)).as_matrix() @ frames.hand_rotation(0)
    off = np.array([along, 0.004, 0.0])
    aslant = readings()
    aslant = replace(
        aslant,
        hand_position=np.array([[frames.HEAD_AT + off, aslant.hand_position[0, 1]]]),
        hand_rotation=np.array([[turned, np.eye(3)]]),
    )
    to_middle = -down.SHARE * off * (brought, 1.0, 1.0)
    way, turn = down.set_down(aslant, 1)
    np.testing.assert_allclose(way, to_middle, atol=1e-9)
    np.testing.assert_allclose(turn, (0.0, -0.2 * down.SHARE, 0.0), atol=1e-9)
    way, _ = down.set_down(aslant, down.UPRIGHT + 1)
    np.testing.assert_allclose(way, to_middle + down.SHARE * down.DOWN, atol=1e-9)
