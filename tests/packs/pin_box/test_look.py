"""The pin box in pictures of the twin: what is seen of it, and when nobody can tell."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import pytest

from enpire.certification.hostile import scenes
from enpire.environment import (
    Demonstrations,
    Evidence,
    Job,
    Readings,
    Stations,
    View,
    build_stations,
)
from enpire.environment.eyes import TwinEyes
from enpire.types import FloatArray, Outcome, Purpose, State, Verdict
from tests.graphics import eyes_of

from .samples import module
from .test_physics import pins

PERIOD = 0.04
GREY = (120, 122, 125)


@dataclass(frozen=True)
class Shot:
    """A station at the end of an episode, and what its verifier had felt by then.

    ends: of the pins in their holes' frames (pins, 3) [mm]; tilts (pins,) [rad]: the simulator's.
    """

    stations: Stations
    readings: list[Readings]
    views: list[View]
    ends: FloatArray
    tilts: FloatArray
    qpos: FloatArray

    def judge(self, views: list[View] | None = None) -> Verdict:
        """By the cameras."""
        now = (len(self.readings) - 1) * PERIOD
        seen = [replace(v, stamp=v.stamp + now) for v in (self.views if views is None else views)]
        return self.stations.task.judge_views(Evidence(self.readings, PERIOD, seen))


class Bench:
    """One station that demonstrates, and its cameras."""

    def __init__(self, stations: Stations, eyes: TwinEyes) -> None:
        self.stations, self.eyes = stations, eyes

    def after(self, seed: int, periods: int = 1000) -> Shot:
        """A demonstration that is verified after so many periods, or when it looks done."""
        stations = self.stations
        stations.begin(0, Job(seed, Purpose.DEMONSTRATION, Demonstrations(stations.task), "p"))
        running = stations._running[0]
        stations.execute_periods = periods
        while stations.busy:
            stations.tick()
        stations.wait()
        readings = [one.untracked() for one in running.evidence]
        qpos = stations.twin.qpos[0].copy()
        return Shot(stations, readings, self.look(qpos), *pins(stations), qpos)

    def look(self, qpos: FloatArray) -> list[View]:
        """At the station with its joints so; it has to be idle."""
        self.stations.twin.qpos[0] = qpos
        return self.eyes.look(0, 0.0, list).result()

    def moved(self, shot: Shot, pin: int, by: FloatArray, tilt: float = 0.0) -> Shot:
        """The same, with a pin put elsewhere [m] and turned about x [rad]."""
        qpos = shot.qpos.copy()
        at = self.stations.twin.model.joint(f"task_pin{pin}").qposadr[0]
        qpos[at : at + 3] += by
        qpos[at + 3 : at + 7] = np.cos(tilt / 2), np.sin(tilt / 2), 0.0, 0.0
        views = self.look(qpos)
        self.stations.twin.forward(0)
        return Shot(shot.stations, shot.readings, views, *pins(self.stations), qpos)


@pytest.fixture(scope="module")
def bench() -> Iterator[Bench]:
    stations = build_stations("pin_box", 1, 1)
    eyes = eyes_of(stations)
    yield Bench(stations, eyes)
    eyes.close()


@pytest.fixture(scope="module")
def seated(bench: Bench) -> Shot:
    """A success."""
    return bench.after(1)


@pytest.fixture(scope="module")
def raised(bench: Bench, seated: Shot) -> Shot:
    """The same station with the last pin half-way in."""
    return bench.moved(seated, 2, np.array([0.0, 0.0, 0.006]))


def test_seated_pins_are_a_success_without_a_tracker(seated: Shot) -> None:
    verdict = seated.judge()
    assert verdict.outcome is Outcome.SUCCESS, verdict.reason
    assert verdict.stage == "3 of 3"
    depth, off, tilt, away = verdict.predicates
    assert depth.value == pytest.approx(-seated.ends[:, 2].max(), abs=depth.accuracy)
    assert off.value < 0.7
    assert tilt.value < 0.03
    assert 25.0 < away.value < 60.0
    assert [frame.name for frame in verdict.frames] == ["front", "side"]
    assert all(((f.image == (255, 0, 255)).all(axis=2)).sum() > 100 for f in verdict.frames)


@pytest.mark.parametrize("pin", [0, 1, 2])
@pytest.mark.parametrize("up", [0.001, 0.003, 0.006, 0.013])
def test_the_depth_of_a_pin_is_seen(bench: Bench, seated: Shot, pin: int, up: float) -> None:
    shot = bench.moved(seated, pin, np.array([0.0, 0.0, up]))
    depth = shot.judge().predicates[0]
    assert depth.value == pytest.approx(-shot.ends[:, 2].max(), abs=depth.accuracy)
    assert depth.state is (State.PASS if up < 0.0014 else State.FAIL)


@pytest.mark.parametrize("tilt", [-0.3, 0.15, 0.3])
def test_a_pin_that_leans_is_not_upright(bench: Bench, seated: Shot, tilt: float) -> None:
    shot = bench.moved(seated, 1, np.array([0.0, 0.0, 0.013]), tilt)
    verdict = shot.judge()
    assert verdict.outcome is Outcome.FAILURE
    upright = verdict.predicates[2]
    assert upright.value == pytest.approx(abs(tilt), abs=upright.accuracy)


def test_a_pin_beside_its_hole_is_not_in_line(bench: Bench, seated: Shot) -> None:
    shot = bench.moved(seated, 1, np.array([0.0, 0.004, 0.0]))
    off = shot.judge().predicates[1]
    assert off.state is State.FAIL
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
    shot = bench.moved(seated, 1, up, np.pi)
    assert shot.tilts[1] > 3.0
    assert shot.judge().outcome is Outcome.FAILURE


def test_a_pin_that_is_nowhere_is_not_known_of(bench: Bench, seated: Shot) -> None:
    shot = bench.moved(seated, 1, np.array([-0.15, 0.07, -0.05]), np.pi / 2)
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
    views = seated.views
    stale = [replace(v, stamp=-0.2 - 1e-6) if i == camera else v for i, v in enumerate(views)]
    for left in ([views[camera]], stale, []):
        verdict = seated.judge(left)
        assert verdict.undecided
        assert "seated unsure" in verdict.reason


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
        views = [*raised.views]
        views[camera] = replace(view, image=image)
        verdict = raised.judge(views)
        assert verdict.outcome is Outcome.FAILURE
    assert pin == 2 or verdict.stage != "2 of 3"


@pytest.mark.parametrize("camera", [0, 1])
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_a_camera_that_was_moved_is_noticed(seated: Shot, camera: int, axis: int) -> None:
    """3 mm from where the calibration has it, either way."""
    for sign in (-1, 1):
        views = [*seated.views]
        view = views[camera]
        shift = sign * 0.003 * np.eye(3)[axis]
        moved = replace(view.camera, position=view.camera.position + shift)
        views[camera] = replace(view, camera=moved)
        assert seated.judge(views).undecided


def test_a_picture_of_success_deceives_one_camera_and_not_two(seated: Shot, raised: Shot) -> None:
    for camera in (0, 1):
        views = [*raised.views]
        views[camera] = seated.views[camera]
        assert raised.judge(views).outcome is Outcome.FAILURE


def test_every_hostile_scene_that_is_drawn_leaves_a_failure_a_failure(
    seated: Shot, raised: Shot
) -> None:
    model = raised.stations.twin.model
    at = raised.stations.twin.site_xpos[0, model.site("task_box").id].copy()
    for scene in scenes(model, "task_box", at):
        assert raised.judge(scene.spoil(raised.views, seated.views)).outcome is Outcome.FAILURE


def test_the_colours_are_the_boxs_and_the_pins(seated: Shot) -> None:
    for shift in ([1, 2, 0], [2, 0, 1]):
        other = [replace(v, image=np.ascontiguousarray(v.image[..., shift])) for v in seated.views]
        assert seated.judge(other).undecided


def test_colours_change_no_physics() -> None:
    """Cameras and colours are all that eyes have added: as heavy and as hard as before."""
    model = build_stations("pin_box", 1, 1).twin.model
    for i in range(module("parts").PINS):
        assert model.body(f"task_pin{i}").mass[0] == pytest.approx(0.00303, abs=2e-5)
    assert [model.camera(i).name for i in range(model.ncam)] == ["front", "side"]


def test_looking_takes_less_than_the_time_there_is(seated: Shot) -> None:
    """Of the processor's time, whoever else is busy on it."""
    took = []
    for _ in range(5):
        began = time.process_time()
        seated.judge()
        took.append(time.process_time() - began)
    assert min(took) < 0.150
