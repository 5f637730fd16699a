"""The verdict on a card, from made-up evidence: each condition fails alone."""

from __future__ import annotations

import importlib
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from enpire.environment import Evidence, Readings, Task, build_stations
from enpire.types import Outcome, Verdict

PERIOD = 0.04


@cache
def task() -> Task:
    return build_stations("gpu_insertion", 1, 1).task


def module(name: str):  # type: ignore[no-untyped-def]
    package = type(task()).__module__.rpartition(".")[0]
    return importlib.import_module(f"{package}.{name}")


def readings(
    depth: float = 0.0075,
    aside: tuple[float, float] = (0.0, 0.0),
    turn: tuple[float, float, float] = (0.0, 0.0, 0.0),
    opening: float = 0.0115,
    slot_yaw: float = 0.0,
    hands: tuple[float, float, float] = (0.0, 0.0, 0.0),
    felt: float = 0.0,
) -> Readings:
    """A seated card in closed hands, or one that lacks something [m, rad].

    hands: off their places on the card [m]. felt: by the left wrist, upwards [N].
    """
    frames = module("frames")
    slot = Rotation.from_rotvec([0, 0, slot_yaw]).as_matrix()
    card = slot @ Rotation.from_rotvec(turn).as_matrix()
    middle = frames.SLOT_AT + slot @ (*aside, -depth)
    on_card = [(0.006, y, z) for y in (0.07, -0.11) for z in (0.02, 0.08)]
    on_board = [(x, y, -0.0111) for y in (0.09, -0.13) for x in (-0.075, 0.075)]
    position = [middle + card @ tag for tag in on_card]
    position += [frames.SLOT_AT + slot @ tag for tag in on_board]
    places = frames.SLOT_AT + (frames.GRASPS + hands) @ slot.T
    axes = [slot @ frames.hand_rotation(arm) for arm in (frames.LEFT, frames.RIGHT)]
    return Readings(
        joints=np.zeros((1, 2, 6)),
        gripper=np.full((1, 2), opening),
        hand_position=places[None],
        hand_rotation=np.array(axes)[None],
        wrist_force=np.array([[(0.0, 0.0, felt), (0.0, 0.0, 0.0)]]),
        lead=np.zeros((1, 2, 3)),
        position=np.array(position)[None],
        rotation=np.array([card] * 4 + [slot] * 4)[None],
    )


def judge(first: Readings | None = None, last: Readings | None = None) -> Verdict:
    seen = [first or readings()] * 5 + [last or readings(opening=0.050)] * 15
    return task().verify(Evidence(seen, PERIOD))


@pytest.mark.parametrize("yaw", [0.0, 0.3, -2.0])
def test_a_card_that_stays_seated_is_a_success(yaw: float) -> None:
    verdict = judge(readings(slot_yaw=yaw), readings(opening=0.050, slot_yaw=yaw))
    assert verdict.outcome is Outcome.SUCCESS
    assert verdict.stage == "seated"
    assert verdict.score == 1.0
    assert not verdict.reason
    values = {p.name: p.value for p in verdict.predicates}
    assert values["seated"] == pytest.approx(7.5)
    assert values["stays"] == pytest.approx(7.5)
    assert values["in_slot"] == pytest.approx(0.0, abs=1e-9)
    assert values["level"] == pytest.approx(0.0, abs=1e-9)


SLOPE = 0.0021 / 0.089


@pytest.mark.parametrize(
    ("before", "after", "name"),
    [
        ({"depth": 0.0064}, {}, "seated"),
        ({}, {"opening": 0.0390}, "let_go"),
        ({}, {"depth": 0.0064}, "stays"),
        ({}, {"aside": (0.007, 0.0)}, "in_slot"),
        ({}, {"aside": (0.0, -0.003)}, "in_slot"),
        ({}, {"turn": (SLOPE, 0.0, 0.0)}, "level"),
        ({}, {"turn": (-SLOPE, 0.0, 0.0)}, "level"),
        ({}, {"turn": (0.0, 0.165, 0.0), "opening": 0.075}, "upright"),
        ({}, {"turn": (0.0, -0.165, 0.0), "opening": 0.075}, "upright"),
        ({}, {"hands": (0.018, 0.0, 0.0)}, "clear"),
        ({}, {"hands": (-0.018, 0.0, 0.0)}, "clear"),
        ({}, {"hands": (0.060, 0.0, 0.0)}, "clear"),
        ({}, {"felt": 31.0}, "gentle"),
    ],
)
def test_each_condition_fails_alone(
    before: dict[str, Any], after: dict[str, Any], name: str
) -> None:
    verdict = judge(readings(**before), readings(**{"opening": 0.050, **after}))
    assert verdict.outcome is Outcome.FAILURE
    assert verdict.failed == (name,)
    assert name in verdict.reason
    assert verdict.score < 1.0
    assert verdict.stage != "seated"


@pytest.mark.parametrize(("wide", "failed"), [(0.0, ()), (0.001, ()), (0.004, ("held",))])
def test_hands_that_close_when_told_to_stay_shut_did_not_hold(
    wide: float, failed: tuple[str, ...]
) -> None:
    """However far they are open: fingers that a shaking hand twists on the card gape by 7 mm."""
    for twisted in (0.0, 0.007):
        first = [readings(opening=0.0115 + twisted + wide * (4 - i) / 4) for i in range(5)]
        evidence = Evidence([*first, *[readings(opening=0.050)] * 15], PERIOD)
        assert task().verify(evidence).failed == failed


def test_what_was_not_seen_is_no_success() -> None:
    verdict = judge(last=readings(depth=float("nan"), opening=0.050))
    assert verdict.outcome is Outcome.FAILURE
    assert "stays" in verdict.failed
    assert np.isfinite(verdict.score)


@pytest.mark.parametrize(
    ("depth", "x", "stage"),
    [(-0.01, 0.0, "outside"), (0.003, 0.0, "entered"), (0.0075, 0.008, "outside")],
)
def test_the_stage_says_how_far_it_came(depth: float, x: float, stage: str) -> None:
    seen = readings(depth=depth, aside=(x, 0.0))
    assert judge(seen, seen).stage == stage


def test_the_probe_lets_go_of_a_seated_card_only() -> None:
    shut, high, beside = readings(), readings(depth=0.0060), readings(aside=(0.012, 0.0))
    held = task().verification_action(Evidence([shut] * 4, PERIOD))
    opened = task().verification_action(Evidence([shut] * 16, PERIOD))
    assert held is not None
    assert opened is not None
    for action in (held, opened):
        assert not action.reshape(2, 7)[:, :6].any(), "the hands stay where they are"
    assert (held[[6, 13]] == -1).all()
    opening = (opened[[6, 13]] + 1) / 2 * 0.075
    assert (opening > 0.045).all(), "clear of a card that leans"
    for lost in (high, beside):
        assert task().verification_action(Evidence([lost] * 4, PERIOD)) is not None
        assert task().verification_action(Evidence([lost] * 5, PERIOD)) is None, (
            "dropped, it might fall in"
        )
    assert (
        task().verification_action(Evidence([shut] * 5 + [readings(opening=0.050)] * 35, PERIOD))
        is None
    )


def test_hands_unwind_before_they_open() -> None:
    """A hand that a soft arm presses with would strike the card, or lean on it, once it is open."""
    lead = np.array([[(0.004, 0.0, -0.0008), (0.0, -0.004, 0.0)]])
    wound = replace(readings(), lead=lead)
    action = task().verification_action(Evidence([wound] * 10, PERIOD))
    assert action is not None
    np.testing.assert_allclose(action[:3], [-1.0, 0.0, 0.5], atol=1e-6)
    np.testing.assert_allclose(action[7:10], [0.0, 1.0, 0.0], atol=1e-6)
    assert (action[[6, 13]] == -1).all(), "shut still"


def test_a_card_that_leaps_out_when_let_go_does_not_count() -> None:
    assert judge(last=readings(depth=0.001, opening=0.050)).failed == ("stays",)


def test_ready_needs_the_card_deep_level_and_in_the_slot() -> None:
    seen = [
        readings(),
        readings(depth=0.0065),
        readings(turn=(0.03, 0.0, 0.0)),
        readings(aside=(0.006, 0.0)),
    ]
    joined = Readings(
        *(np.concatenate([getattr(r, name) for r in seen]) for name in Readings.__slots__)
    )
    assert list(task().ready(joined)) == [True, False, False, False]


def test_an_observation_has_its_names_and_stays_small() -> None:
    seen = task().observe(readings(depth=-0.005, turn=(0.0, 0.1, 0.0), opening=0.012))
    assert seen.shape == (1, len(task().observation_names))
    assert seen.dtype == np.float32
    by_name = dict(zip(task().observation_names, seen[0], strict=True))
    assert by_name["left_end_z"] == pytest.approx(1.0, abs=1e-4)
    assert by_name["lean"] == pytest.approx(2.0, abs=0.02)
    assert by_name["right_end_near_z"] > 0.99, "5 mm are far, larger"
    assert by_name["right_end_from_home"] > 0.99, "12 mm are farther"
    seen_high = ("_end_z", "_near_z", "_from_home", "lean")
    rest = [v for k, v in by_name.items() if not k.endswith(seen_high)]
    np.testing.assert_allclose(rest, 0.0, atol=1e-6)


def test_a_turned_slot_is_seen_in_its_own_frame() -> None:
    frames = module("frames")
    seen = readings(depth=-0.010, aside=(0.003, -0.002), slot_yaw=0.4)
    expected = np.array([[0.003, -0.002, 0.010]] * 2)
    np.testing.assert_allclose(frames.ends_in_slot(seen)[0], expected, atol=1e-12)
    leaning = replace(seen, rotation=seen.rotation.copy())
    leaning.rotation[:, :4] = seen.rotation[:, :4] @ Rotation.from_rotvec([0, 0.05, 0]).as_matrix()
    assert frames.lean(leaning)[0] == pytest.approx(np.sin(0.05), abs=1e-9)
