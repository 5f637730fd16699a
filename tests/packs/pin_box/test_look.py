"""The pin box in pictures of the twin: what is seen of it, and when nobody can tell."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from enpire.environment import build_stations
from enpire.types import FloatArray, Outcome, PredicateState
from tests.packs import looking
from tests.packs.looking import GREY

from .samples import module
from .test_physics import pins

Truth = tuple[FloatArray, FloatArray]
"""Ends of the pins in their holes' frames (pins, 3) [mm], and tilts (pins,) [rad]."""
Shot = looking.Shot[Truth]
Bench = looking.Bench[Truth]


def moved(bench: Bench, shot: Shot, pin: int, by: FloatArray, tilt: float = 0.0) -> Shot:
    """The same, with a pin put elsewhere [m] and turned about x [rad]."""
    qpos = shot.qpos.copy()
    at = bench.stations.twin.model.joint(f"task_pin{pin}").qposadr[0]
    qpos[at : at + 3] += by
    qpos[at + 3 : at + 7] = np.cos(tilt / 2), np.sin(tilt / 2), 0.0, 0.0
    return bench.shot(shot.readings, qpos)


def depth_of(shot: Shot) -> float:
    """Of the pin that is least deep [mm]."""
    ends, _ = shot.truth
    return float(-ends[:, 2].max())


@pytest.fixture(scope="module")
def bench() -> Iterator[Bench]:
    yield from looking.bench_of("pin_box", pins)


@pytest.fixture(scope="module")
def seated(bench: Bench) -> Shot:
    """A success."""
    return bench.after(1)


@pytest.fixture(scope="module")
def raised(bench: Bench, seated: Shot) -> Shot:
    """The same station with the last pin half-way in."""
    return moved(bench, seated, 2, np.array([0.0, 0.0, 0.006]))


def test_seated_pins_are_a_success_without_a_tracker(seated: Shot) -> None:
    verdict = seated.judge()
    assert verdict.outcome is Outcome.SUCCESS, verdict.reason
    assert verdict.stage == "3 of 3"
    depth, off, tilt, away = verdict.predicates
    assert depth.value == pytest.approx(depth_of(seated), abs=depth.accuracy)
    assert off.value < 0.7
    assert tilt.value < 0.03
    assert 15.0 < away.value < 40.0
    looking.require_overlays(verdict, 100)


@pytest.mark.parametrize("pin", [0, 1, 2])
@pytest.mark.parametrize("up", [0.001, 0.003, 0.006, 0.013])
def test_the_depth_of_a_pin_is_seen(bench: Bench, seated: Shot, pin: int, up: float) -> None:
    shot = moved(bench, seated, pin, np.array([0.0, 0.0, up]))
    depth = shot.judge().predicates[0]
    assert depth.value == pytest.approx(depth_of(shot), abs=depth.accuracy)
    assert depth.state is (PredicateState.PASS if up < 0.0014 else PredicateState.FAIL)


@pytest.mark.parametrize("tilt", [-0.3, 0.15, 0.3])
def test_a_pin_that_leans_is_not_upright(bench: Bench, seated: Shot, tilt: float) -> None:
    shot = moved(bench, seated, 1, np.array([0.0, 0.0, 0.013]), tilt)
    verdict = shot.judge()
    assert verdict.outcome is Outcome.FAILURE
    upright = verdict.predicates[2]
    assert upright.value == pytest.approx(abs(tilt), abs=upright.accuracy)


def test_a_pin_beside_its_hole_is_not_in_line(bench: Bench, seated: Shot) -> None:
    shot = moved(bench, seated, 1, np.array([0.0, 0.004, 0.0]))
    off = shot.judge().predicates[1]
    assert off.state is PredicateState.FAIL
    assert off.value == pytest.approx(4.0, abs=off.accuracy)


def test_pins_in_each_others_holes_are_not_seated(bench: Bench, seated: Shot) -> None:
    qpos = seated.qpos.copy()
    one, other = (bench.stations.twin.model.joint(f"task_pin{i}").qposadr[0] for i in (0, 1))
    qpos[one : one + 7] = seated.qpos[other : other + 7]
    qpos[other : other + 7] = seated.qpos[one : one + 7]
    assert "in_line" in replace(seated, views=bench.look(qpos)).judge().failed


def test_a_pin_that_is_upside_down_in_its_hole_is_not_seated(bench: Bench, seated: Shot) -> None:
    """Its coloured end is in the hole then, and what is bare looks out."""
    up = np.array([0.0, 0.0, module("parts").PIN_LENGTH])
    shot = moved(bench, seated, 1, up, np.pi)
    assert shot.truth[1][1] > 3.0
    assert shot.judge().outcome is Outcome.FAILURE


def test_a_pin_that_is_nowhere_is_not_known_of(bench: Bench, seated: Shot) -> None:
    shot = moved(bench, seated, 1, np.array([-0.15, 0.07, -0.05]), np.pi / 2)
    verdict = shot.judge()
    assert verdict.undecided
    assert "seated unsure" in verdict.reason
    assert verdict.stage == "2 of 3"


def test_a_hand_that_is_at_a_pin_has_not_let_go(seated: Shot) -> None:
    at = seated.stations.twin.model.joint("task_pin0").qposadr[0]
    grip = seated.qpos[at : at + 3] + np.array([0.0, 0.0, module("frames").GRIP])
    near = [replace(r, hand_position=0.0 * r.hand_position + grip) for r in seated.readings]
    assert replace(seated, readings=near).judge().failed == ("let_go",)


@pytest.mark.parametrize("camera", [0, 1])
def test_one_view_is_not_enough(seated: Shot, camera: int) -> None:
    looking.require_two_views(seated, camera, "0 of 3", "seated unsure")


@pytest.mark.parametrize("camera", [0, 1])
@pytest.mark.parametrize("pin", [0, 1, 2])
@pytest.mark.parametrize("axis", [0, 1])
def test_what_hides_a_pin_is_never_believed(raised: Shot, camera: int, pin: int, axis: int) -> None:
    """A board from above or aside, further and further before a pin in one view."""
    look = module("look")
    view = raised.views[camera]
    (seen,) = look.colours([view], view.stamp)
    points = seen.pins[pin].points.astype(int)
    low, high = points.min(axis=0), points.max(axis=0) + 1
    for edge in np.linspace(low[axis], high[axis], 6).astype(int):
        image, end = view.image.copy(), high.copy()
        end[axis] = edge
        image[low[1] : end[1], low[0] : end[0]] = GREY
        verdict = raised.judge(raised.painted(camera, image))
        assert verdict.outcome is Outcome.FAILURE
    assert pin == 2 or verdict.stage != "2 of 3"


@pytest.mark.parametrize("camera", [0, 1])
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_a_camera_that_was_moved_is_noticed(seated: Shot, camera: int, axis: int) -> None:
    looking.require_calibration(seated, camera, axis, 0.003)


def test_a_picture_of_success_deceives_one_camera_and_not_two(seated: Shot, raised: Shot) -> None:
    looking.require_two_pictures(raised, seated)


def test_every_hostile_scene_that_is_drawn_leaves_a_failure_a_failure(
    seated: Shot, raised: Shot
) -> None:
    looking.require_undeceived(raised, seated, "task_box")


def test_the_colours_are_the_boxs_and_the_pins(seated: Shot) -> None:
    looking.require_colours(seated)


def test_colours_change_no_physics() -> None:
    """Cameras and colours are all that eyes have added: as heavy and as hard as before."""
    model = build_stations("pin_box", 1, 1).twin.model
    for i in range(module("parts").PINS):
        assert model.body(f"task_pin{i}").mass[0] == pytest.approx(0.00303, abs=2e-5)
    assert [model.camera(i).name for i in range(model.ncam)] == ["front", "side"]


def test_looking_takes_less_than_the_time_there_is(seated: Shot) -> None:
    looking.require_haste(seated)
