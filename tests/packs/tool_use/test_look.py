"""The cut tie and the cutter in pictures of the twin: what is seen of them, and when not."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from enpire.environment import Stations
from enpire.types import Outcome, Predicate, PredicateState
from tests.packs import looking
from tests.packs.looking import GREY

from .test_physics import module

Truth = dict[str, Predicate]
Shot = looking.Shot[Truth]
Bench = looking.Bench[Truth]


def truth(stations: Stations) -> Truth:
    """What cameras measure, as it truly is [mm]."""
    twin, layout = stations.twin, module("layout")
    found = {p.name: p for p in stations.task.ground_truth(twin, 0)}
    cutter, jaw, stand = (
        twin.site_xpos[0, twin.model.site(f"task_{n}").id] for n in ("cutter", "jaw", "stand")
    )
    off = 1e3 * np.linalg.norm((cutter + jaw) / 2 - stand - np.array([0, 0, layout.STANDING]))
    return {
        "bundle_shift": found["bundle_moved"],
        "hand_away": found["hands_near"],
        "in_stand": Predicate("in_stand", float(off), 8.0, "mm", at_least=False),
    }


def moved(bench: Bench, shot: Shot, **joints: float) -> Shot:
    """The same with some of its joints elsewhere by so much; x, y, z: of the cutter."""
    qpos, model = shot.qpos.copy(), bench.stations.twin.model
    cutter = model.joint("task_cutter").qposadr[0]
    for name, by in joints.items():
        at = cutter + "xyz".index(name) if name in "xyz" else 0
        qpos[at or model.joint(f"task_{name}").qposadr[0]] += by
    return replace(shot, views=bench.look(qpos), qpos=qpos)


@pytest.fixture(scope="module")
def bench() -> Iterator[Bench]:
    yield from looking.bench_of("tool_use", truth)


@pytest.fixture(scope="module")
def done(bench: Bench) -> Shot:
    """A success."""
    return bench.after(0)


@pytest.fixture(scope="module")
def whole(bench: Bench, done: Shot) -> Shot:
    """The same station, verified before the strap is cut."""
    return bench.after(0, 20)


def test_a_cutter_put_back_is_a_success_without_a_tracker(done: Shot) -> None:
    verdict = done.judge()
    assert verdict.outcome is Outcome.SUCCESS, verdict.reason
    assert verdict.stage == "put_back"
    looking.require_overlays(verdict)


@pytest.mark.parametrize("seed", [0, 3])
def test_what_is_measured_is_what_is(bench: Bench, done: Shot, seed: int) -> None:
    """Clamp and stand stand elsewhere for another seed."""
    shot = bench.after(seed) if seed else done
    for name in ("bundle_shift", "in_stand"):
        seen = shot.measures()[name]
        assert abs(seen.value - shot.truth[name].value) < seen.accuracy, name
    away = shot.measures()["hand_away"]  # a hand is taken to fill the room between its fingers
    assert -4.0 < away.value - shot.truth["hand_away"].value < away.accuracy
    assert shot.measures()["tilt"].value < 3.0
    assert 5.5 < shot.measures()["parted"].value < 11.0


def test_a_strap_that_is_whole_is_no_success(whole: Shot) -> None:
    verdict = whole.judge()
    assert verdict.outcome is Outcome.FAILURE
    assert verdict.predicates[0].state is not PredicateState.PASS


def test_a_whole_strap_beside_a_cutter_in_its_stand_fails_beyond_doubt(
    bench: Bench, done: Shot
) -> None:
    model = done.stations.twin.model
    joints = [f"{kind}_{end}" for kind in ("tension", "bend") for end in "ab"]
    back = {name: -done.qpos[model.joint(f"task_{name}").qposadr[0]] for name in joints}
    shot = moved(bench, done, **back)
    assert shot.judge().failed == ("parted",)
    assert shot.measures()["parted"].state is PredicateState.FAIL
    assert shot.judge().stage == "whole"


@pytest.mark.parametrize(
    ("joints", "name", "value"),
    [
        ({"bundle_x": 0.005}, "bundle_shift", 5.0),
        ({"bundle_y": -0.004}, "bundle_shift", 4.0),
        ({"x": 0.012}, "in_stand", 12.0),
        ({"z": 0.020}, "in_stand", 20.0),
        ({"x": -0.020}, "hand_away", 9.6),
    ],
)
def test_each_is_measured_as_it_fails(
    bench: Bench, done: Shot, joints: dict[str, float], name: str, value: float
) -> None:
    seen = moved(bench, done, **joints).measures()[name]
    assert seen.value == pytest.approx(value, abs=2.0)
    assert seen.state is PredicateState.FAIL


@pytest.mark.parametrize("lean", [-25.0, 12.0, 25.0])
def test_a_cutter_that_leans_is_never_taken_to_stand(bench: Bench, done: Shot, lean: float) -> None:
    """To the front or back [deg]; too far where handle ends hide a sleeve: then it is unsure."""
    cutter = done.stations.twin.model.joint("task_cutter").qposadr[0] + 3
    qpos = done.qpos.copy()
    turn = Rotation.from_euler("y", lean, degrees=True)
    turned = turn * Rotation.from_quat(qpos[cutter : cutter + 4], scalar_first=True)
    qpos[cutter : cutter + 4] = turned.as_quat(scalar_first=True)
    seen = replace(done, views=bench.look(qpos)).measures()["tilt"]
    assert seen.state is (PredicateState.PASS if abs(lean) < 20 else seen.state)
    if seen.state is not PredicateState.UNSURE:
        assert seen.value == pytest.approx(abs(lean), abs=seen.accuracy)


@pytest.mark.parametrize("camera", [0, 1])
def test_one_view_is_not_enough(done: Shot, camera: int) -> None:
    looking.require_two_views(done, camera, "unsure", "parted unsure")


@pytest.mark.parametrize("camera", [0, 1])
@pytest.mark.parametrize(
    ("hue", "name"),
    [("one", "in_stand"), ("other", "hand_away"), ("end_a", "parted"), ("band", "bundle_shift")],
)
def test_what_hides_a_part_leaves_it_unsure_and_never_off(
    done: Shot, camera: int, hue: str, name: str
) -> None:
    """A board from the left, further and further before a colour in one view."""
    look = module("look")
    view = done.views[camera]
    (seen,) = look.colours([view], view.stamp)
    usual = done.measures()[name].value
    x = seen[hue].points[:, 0]
    states = []
    for edge in np.linspace(x.min(), x.max() + 1, 6).astype(int):
        image = view.image.copy()
        image[:, int(x.min()) - 8 : edge] = GREY
        measure = done.measures(done.painted(camera, image))[name]
        states.append(measure.state)
        if measure.state is PredicateState.PASS:
            assert abs(measure.value - usual) < measure.accuracy
    assert states[-1] is PredicateState.UNSURE


@pytest.mark.parametrize("camera", [0, 1])
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_a_camera_that_was_moved_is_noticed(done: Shot, camera: int, axis: int) -> None:
    looking.require_calibration(done, camera, axis, 0.005)


def test_a_picture_of_success_deceives_one_camera_and_not_two(done: Shot, whole: Shot) -> None:
    looking.require_two_pictures(whole, done)


def test_every_hostile_scene_that_is_drawn_leaves_a_failure_a_failure(
    done: Shot, whole: Shot
) -> None:
    looking.require_undeceived(whole, done, "task_cutter")


def test_the_colours_are_those_of_the_labels(done: Shot) -> None:
    looking.require_colours(done)


def test_looking_takes_less_than_the_time_there_is(done: Shot) -> None:
    looking.require_haste(done)
