"""Block and pad in pictures of the twin: where they are, and when nobody can tell."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import mujoco
import numpy as np
import pytest

from enpire.certification.fakes import show
from enpire.environment import CameraView, Readings, Stations, Watched
from enpire.environment.cameras.twin_cameras import TwinVerifierCameras
from enpire.environment.core.answers import truth_of
from enpire.types import FloatArray, Outcome, Predicate, PredicateState
from tests.graphics import verifier_cameras_of
from tests.packs import looking
from tests.packs.looking import PERIOD
from tests.packs.modules import module

from .test_verify import readings

Shot = looking.Shot[dict[str, Predicate]]
LIES = 0.020  # height of the middle of a block that lies [m]
RAISED = 0.095  # of the hand over the bench at the end [m]
LOOKED = 22  # readings before the cameras look for the first time


class Bench:
    """A station whose block is put down by hand, and whose hand is raised."""

    def __init__(self, stations: Stations, cameras: TwinVerifierCameras) -> None:
        self.stations, self.cameras = stations, cameras
        self._fakes = module(stations.task, "fakes")
        kinematics = module(stations.task, "task").Kinematics
        self._solver = kinematics(stations.twin.scene.world, stations.twin.scene.robot)

    def views(
        self,
        block: Sequence[float],
        turned: Sequence[float] = (0.0, 0.0, 0.0),
        seed: int = 0,
        hand: float = RAISED,
    ) -> list[CameraView]:
        """With the block so far from the pad's middle [m] and turned [rad].

        seed: of where the pad is, and of how both are turned. hand: height over the bench [m].
        """
        stations, rng = self.stations, np.random.default_rng(seed)
        stations.set_initial_state(0, stations.task.sample(rng))
        aside = (0.0, 0.0, hand - block[2])
        state = self._fakes.State(tuple(block), tuple(turned), hand=aside)
        self._fakes.write(self._solver, state, stations.twin, stations.control, 0, rng)
        stations.twin.forward(0)
        return self.cameras.look(0, 0.0, list).result()

    def shot(
        self,
        block: Sequence[float] = (0.0, 0.0, LIES),
        turned: Sequence[float] = (0.0, 0.0, 0.0),
        seed: int = 0,
        hand: float = RAISED,
    ) -> Shot:
        """The same after a probe in which nothing moved but the hand."""
        views = self.views(block, turned, seed, hand)
        felt = [readings(hand=hand).untracked() for _ in range(LOOKED + 11)]
        truth = {p.name: p for p in truth_of(self.stations.task, self.stations.twin, 0)}
        before = seen_before(views)
        return Shot(self.stations, felt, views, self.stations.twin.qpos[0].copy(), truth, before)


def seen_before(views: Sequence[CameraView]) -> tuple[Watched]:
    """These views as those of the first look."""
    return (Watched(LOOKED, [replace(view, stamp=LOOKED * PERIOD) for view in views]),)


@pytest.fixture(scope="module")
def bench(stations: Stations) -> Iterator[Bench]:
    cameras = verifier_cameras_of(stations)
    yield Bench(stations, cameras)
    cameras.close()


@pytest.fixture(scope="module")
def placed(bench: Bench) -> Shot:
    """A success."""
    return bench.shot((0.004, -0.003, LIES), (0.0, 0.0, 0.4))


@pytest.fixture(scope="module")
def beside(bench: Bench) -> Shot:
    """A block that lies half on the pad."""
    return bench.shot((0.030, 0.0, LIES), (0.0, 0.0, 0.4))


def test_a_block_on_the_pad_is_a_success_without_a_tracker(placed: Shot) -> None:
    verdict = placed.judge()
    assert verdict.outcome is Outcome.SUCCESS, verdict.reason
    assert (verdict.score, verdict.stage) == (1.0, "placed")
    looking.require_overlays(verdict)


@pytest.mark.medium
def test_block_and_pad_are_found_wherever_they_lie(bench: Bench) -> None:
    rng = np.random.default_rng(1)
    for seed in range(8):
        off, yaw = rng.uniform(-0.018, 0.018, 2), rng.uniform(-np.pi, np.pi)
        shot = bench.shot((*off, LIES), (0.0, 0.0, yaw), seed)
        found = shot.measures()
        inside = found["inside"]
        assert abs(inside.value - shot.truth["inside"].value) < 0.4
        assert inside.accuracy < 0.8
        assert found["high"].value < 0.4
        assert found["tilt"].value < 1.0
        assert found["clear"].value == pytest.approx(1e3 * (RAISED - LIES), abs=0.5)


@pytest.mark.parametrize(
    ("inside", "state"),
    [
        (2.0, PredicateState.PASS),
        (0.6, PredicateState.BOUNDARY),
        (0.4, PredicateState.BOUNDARY),
        (-1.0, PredicateState.FAIL),
    ],
)
def test_near_the_rim_it_is_neither(bench: Bench, inside: float, state: PredicateState) -> None:
    corner = 0.042 - 1e-3 * inside  # from the pad's middle [m]
    x = float(np.sqrt(corner**2 - 0.020**2)) - 0.020
    shot = bench.shot((x, 0.0, LIES))
    assert shot.truth["inside"].value == pytest.approx(inside, abs=0.01)
    assert shot.measures()["inside"].state is state


@pytest.mark.parametrize(
    ("block", "turned", "name", "value"),
    [
        ((0.0, 0.0, LIES + 0.010), (0.0, 0.0, 0.4), "high", 10.0),
        ((0.0, 0.0, LIES + 0.0035), (0.0, 0.20, 0.0), "tilt", 11.5),
    ],
)
def test_a_block_that_does_not_lie_flat_is_measured_and_fails(
    bench: Bench, block: Sequence[float], turned: Sequence[float], name: str, value: float
) -> None:
    found = bench.shot(block, turned).measures()
    assert found[name].value == pytest.approx(value, abs=0.8)
    assert found[name].state is PredicateState.FAIL


def test_a_hand_that_is_near_fails_whatever_is_seen(placed: Shot) -> None:
    low: list[Readings] = [readings(hand=0.070).untracked()] * len(placed.readings)
    assert replace(placed, readings=low).judge().failed == ("clear",)


def test_a_block_in_the_fingers_is_told_to_be_high(bench: Bench) -> None:
    """Fingers hide it in part: where it is shows all the same."""
    held = bench.shot((0.0, 0.0, 0.095), hand=0.100).judge()
    assert held.outcome is Outcome.FAILURE
    assert {"high", "clear"} <= set(held.failed)
    assert held.stage == "held"


@pytest.mark.parametrize(("way", "failed"), [(0.004, ()), (0.012, ("still",))])
def test_a_block_that_has_moved_since_the_first_look_is_not_still(
    bench: Bench, way: float, failed: tuple[str, ...]
) -> None:
    """In 0.4 s it may go 8 mm."""
    shot = bench.shot()
    moved = replace(shot, watched=seen_before(bench.views((way, 0.0, LIES))))
    assert moved.judge().failed == failed
    assert moved.measures()["still"].value == pytest.approx(1e3 * way / 0.4, abs=1.0)


def test_without_a_first_look_nobody_knows_whether_it_is_still(placed: Shot) -> None:
    verdict = replace(placed, watched=()).judge()
    assert verdict.undecided
    assert verdict.reason == "still unsure"


def test_cameras_look_once_before_the_end(stations: Stations, placed: Shot) -> None:
    task = stations.task
    evidence = module(task, "verify").Evidence
    asked = [
        n
        for n in range(1, len(placed.readings))
        if task.watch(evidence([readings()] * n, PERIOD))
        and task.verification_action(evidence([readings()] * n, PERIOD)) is not None
    ]
    assert asked == [LOOKED + 1]


@pytest.mark.parametrize("camera", [0, 1])
def test_one_view_is_not_enough(placed: Shot, camera: int) -> None:
    looking.require_two_views(placed, camera, "unsure", "inside unsure")


@pytest.mark.parametrize("camera", [0, 1])
def test_a_camera_that_was_knocked_is_told_so_by_the_marks(placed: Shot, camera: int) -> None:
    view = placed.views[camera]
    for axis in range(3):
        off = replace(view.camera, position=view.camera.position + 0.008 * np.eye(3)[axis])
        knocked = placed.with_view(camera, replace(view, camera=off))
        assert placed.judge(knocked).outcome is Outcome.SUCCESS
        inside = placed.measures(knocked)["inside"]
        assert inside.value == pytest.approx(placed.truth["inside"].value, abs=0.4)
    assert placed.judge(placed.painted(camera, without_marks(placed, view))).undecided


def without_marks(shot: Shot, view: CameraView) -> np.ndarray:
    """A picture in which boards hide all marks but three."""
    image = view.image.copy()
    for mark in module(shot.stations.task, "look").MARKS.places[3:]:
        x, y = np.maximum(view.camera.project(mark).astype(int), 20)
        image[y - 20 : y + 20, x - 20 : x + 20] = looking.GREY
    return image


@pytest.mark.parametrize("camera", [0, 1])
@pytest.mark.parametrize("thing", ["block", "pad"])
def test_another_one_like_it_makes_it_doubtful(placed: Shot, camera: int, thing: str) -> None:
    view = placed.views[camera]
    seen = getattr(module(placed.stations.task, "look").colours(view), thing)
    image = view.image.copy()
    image[np.roll(seen.mask, 130, axis=1)] = view.image[seen.mask]
    assert placed.judge(placed.painted(camera, image)).undecided


@pytest.mark.parametrize("camera", [0, 1])
def test_views_that_contradict_each_other_are_not_believed(bench: Bench, camera: int) -> None:
    """Of two places so near that a block between them explains both, and that are both good."""
    one, other = (bench.shot((x, 0.0, LIES)) for x in (-0.003, 0.003))
    assert (one.judge().failed, other.judge().failed) == ((), ())
    both = one.with_view(camera, other.views[camera])
    assert one.judge(both).undecided
    assert one.measures(both)["inside"].state is PredicateState.UNSURE


@pytest.mark.parametrize("camera", [0, 1])
def test_what_hides_a_half_of_the_block_leaves_it_unsure(placed: Shot, camera: int) -> None:
    view = placed.views[camera]
    block = module(placed.stations.task, "look").colours(view).block
    x, y = block.points.mean(axis=0).astype(int)
    image = view.image.copy()
    image[y - 60 : y + 60, x - 60 : x] = looking.GREY
    assert placed.judge(placed.painted(camera, image)).outcome is Outcome.FAILURE


@pytest.mark.parametrize("camera", [0, 1])
def test_a_picture_of_success_before_one_camera_makes_none(
    bench: Bench, placed: Shot, camera: int
) -> None:
    """Nor of a block that is nearly there: both views then show nearly the same."""
    for by in (0.017, 0.0185, 0.020):
        near = bench.shot((by, 0.0, LIES))
        success = bench.shot((0.012, 0.0, LIES))
        assert not near.truth["inside"].holds
        assert near.judge(near.with_view(camera, success.views[camera])).failed
    high = bench.shot((0.0, 0.0, 0.095), hand=0.100)
    assert high.judge(high.with_view(camera, placed.views[camera])).failed


@pytest.mark.medium
def test_no_hostile_scene_makes_a_success_of_a_failure(beside: Shot, placed: Shot) -> None:
    beside.stations.twin.qpos[0] = beside.qpos
    beside.stations.twin.forward(0)
    looking.require_undeceived(beside, placed, "task_block")


def test_of_other_colours_it_is_not_known(placed: Shot) -> None:
    looking.require_colours(placed)


def test_looking_takes_less_than_the_time_there_is(placed: Shot) -> None:
    looking.require_haste(placed)


@pytest.mark.medium
def test_no_fake_deceives_the_cameras(bench: Bench) -> None:
    results = list(show(bench.stations, [0], bench.cameras))
    assert len(results) >= 10
    for result in results:
        assert result.shown, f"{result.fake} never came to the verifier: {result.reason}"
        assert not result.said, f"{result.fake} deceives the cameras"


def test_marks_lie_where_the_scene_has_them_and_nothing_touches_them(stations: Stations) -> None:
    marks = module(stations.task, "look").MARKS
    scene = mujoco.MjSpec.from_file(str(stations.task.folder / "scene.xml")).compile()
    found = [i for i in range(scene.ngeom) if scene.geom(i).name.startswith("mark")]
    places: FloatArray = scene.geom_pos[found]
    assert places == pytest.approx(marks.places)
    assert set(scene.geom_size[found, 0]) == {marks.radius}
    assert not scene.geom_contype[found].any()
    assert not scene.geom_conaffinity[found].any()
