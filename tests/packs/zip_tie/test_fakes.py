"""Ties that are not fastened deceive neither sensors, nor cameras, nor the truth."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from enpire.certification.episodes import run
from enpire.certification.fakes import CAMERAS, SENSORS, Faker, FakeResult, show
from enpire.certification.verifier import Audit
from enpire.environment import CartesianControl, Job, Stations, build_stations
from enpire.environment.cameras.twin_cameras import TwinVerifierCameras
from enpire.types import PredicateState, Purpose
from tests.graphics import verifier_cameras_of

from .test_physics import module

SEED = 3


@pytest.fixture(scope="module")
def stations() -> Stations:
    return build_stations("zip_tie", 1, 1)


@pytest.fixture(scope="module")
def verifier_cameras(stations: Stations) -> Iterator[TwinVerifierCameras]:
    made = verifier_cameras_of(stations)
    yield made
    made.close()


def require_undeceived(results: list[FakeResult]) -> None:
    for result in results:
        assert result.shown, result
        assert not result.said, result
        assert not result.was, result


def test_no_fake_deceives_sensors_or_truth(stations: Stations) -> None:
    results = list(show(stations, [SEED], None))
    assert len(results) == len(module("fakes").STATES) >= 10
    assert {r.judge for r in results} == {SENSORS}
    require_undeceived(results)


def test_no_fake_deceives_cameras(
    stations: Stations, verifier_cameras: TwinVerifierCameras
) -> None:
    results = list(show(stations, [SEED], verifier_cameras))
    assert {r.judge for r in results} == {CAMERAS}
    assert len(results) == len(module("fakes").STATES)
    require_undeceived(results)


def test_a_fastened_tie_that_is_written_the_same_way_passes(stations: Stations) -> None:
    fakes = module("fakes")
    whole = fakes.construct("fastened", "", fakes.FASTENED, stations.task._kinematics)
    before, stations.execute_periods = stations.execute_periods, whole.periods
    audit = Audit()
    controller = Faker(stations, whole)
    (episode,) = run(stations, [Job(SEED, Purpose.EVALUATION, controller, "whole")], audit)
    stations.execute_periods = before
    assert episode.success, episode.verdict.reason
    assert audit.found[episode.id].was


@pytest.mark.parametrize(
    ("name", "inside"),
    [("on the roof, pinched", False), ("under the floor, pinched", False), ("fastened", True)],
)
def test_cameras_see_by_themselves_whether_the_strap_is_in_the_slot(
    stations: Stations, verifier_cameras: TwinVerifierCameras, name: str, inside: bool
) -> None:
    """Hands stand open beside it, and nothing moves: only the place of the strap differs."""
    fakes, look, verify = (module(part) for part in ("fakes", "look", "verify"))
    ties = {state: tie for state, _, tie in fakes.STATES} | {"fastened": fakes.FASTENED}
    twin, control = stations.twin, stations.control
    stations.set_initial_state(0, stations.task.sample(np.random.default_rng(SEED)))
    written(stations, control, ties[name])
    grasp = twin.site_xpos[0, control.arms[0].grasp].copy()
    frame = twin.site_xmat[0, control.arms[0].grasp].reshape(3, 3).copy()
    seen = look.colours(verifier_cameras.look(0, 0.0, list).result(), 0.0)
    head = look.find_head(seen, grasp, frame)
    assert head is not None
    tip = look.find_tip(seen, head)
    if tip is None:  # its taper does not look as one does that comes out of the slot
        assert not inside
        return
    heights, unsure = look.passes(seen, head, tip)
    off = 1e3 * float((abs(heights) - verify.SLOT[1]).max())
    predicate = verify.in_slot_seen(off, 1e3 * unsure)
    assert predicate.state is (PredicateState.PASS if inside else PredicateState.FAIL), predicate


def written(stations: Stations, control: CartesianControl, tie: object) -> None:
    """A state, and hands that are open as at the last look."""
    twin = stations.twin
    module("fakes").write_tie(twin, control, 0, tie, stations.task._kinematics)
    for arm in control.arms:
        for finger in ("finger_left", "finger_right"):
            twin.qpos[0, twin.model.joint(f"{arm.name}_{finger}").qposadr[0]] = 0.011
    twin.forward(0)
