"""The truth of a zip tie goes another way than its verifier: each finds the other's error."""

from __future__ import annotations

import numpy as np
import pytest

from enpire.certification.episodes import run
from enpire.certification.fakes import Faker
from enpire.certification.verifier import Audit, AuditedEpisode
from enpire.environment import Job, Stations, build_stations
from enpire.types import FloatArray, Purpose

from .test_physics import module

ROOF, SHORT = "on the roof, pinched", "too short"
OPENING = np.array([[-0.005, -0.0017], [0.005, 0.0017]])


def judged(tie: object) -> AuditedEpisode:
    """What sensors and truth say of a written state."""
    stations: Stations = build_stations("zip_tie", 1, 1)
    fake = module("fakes").construct("state", "", tie, stations.task._kinematics)
    stations.execute_periods = fake.periods
    audit = Audit()
    run(stations, [Job(3, Purpose.EVALUATION, Faker(stations, fake), "state")], audit)
    (found,) = audit.found.values()
    return found


def state(name: str) -> object:
    return {state: tie for state, _, tie in module("fakes").STATES}[name]


def test_a_wrong_threshold_of_the_verifier_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module("verify"), "DEPTH", 5.0)
    found = judged(state(SHORT))
    assert (found.said, found.was) == (True, False)
    assert "through" in [p.name for p in found.truth if not p.holds]


def test_a_wrong_threshold_of_the_truth_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module("truth"), "DEPTH", 5.0)
    monkeypatch.setattr(module("truth"), "KEPT", 5.0)
    found = judged(state(SHORT))
    assert (found.said, found.was) == (False, True)
    assert "through" in found.reason


def strap(height: float, aside: float = 0.0) -> FloatArray:
    """Joints of a strap whose straight tail passes the head so high and so far aside [m]."""
    joints = np.zeros((16, 3))
    joints[:, 0] = np.linspace(-0.2, 0.026, 16)
    joints[11:, 0] = [-0.041, -0.019, -0.005, 0.008, 0.026]
    joints[:, 1:] = aside, height
    return joints


@pytest.mark.parametrize(
    ("height", "aside", "wall"),
    [
        (0.0, 0.0, -1.0),
        (0.0015, 0.0, 0.5),
        (0.0, 0.002, 1.0),
        (0.0058, 0.0, 4.8),  # on the roof
        (-0.0058, 0.0, 4.8),  # under the floor
    ],
)
def test_a_strap_is_in_the_slot_as_far_as_no_wall_is_in_its_way(
    height: float, aside: float, wall: float
) -> None:
    found = 1e3 * module("truth").in_wall(strap(height, aside), OPENING)
    assert found == pytest.approx(wall, abs=1e-6)


def test_a_tail_that_does_not_cross_both_faces_is_in_no_slot() -> None:
    in_wall = module("truth").in_wall
    assert np.isinf(in_wall(strap(0.0) - [0.03, 0, 0], OPENING))
    assert np.isinf(in_wall(strap(0.0) * [-1, 1, 1], OPENING)), "from the wrong side"


def test_a_loop_is_one_if_the_bundle_passes_through_it() -> None:
    """A ring in the head's x and z; the bundle along y, short, beside it, or before it."""
    linked = module("truth").linked
    angles = np.linspace(0.0, -2 * np.pi, 12)
    ring = np.stack([-0.03 + 0.03 * np.cos(angles), 0 * angles, -0.03 + 0.03 * np.sin(angles)], 1)
    tail = np.array([[-0.02, 0, 0], [-0.005, 0, 0], [0.008, 0, 0], [0.026, 0, 0]])
    joints = np.vstack([ring, tail])
    half = np.array([0.0, 0.035, 0.0])

    def through(middle: tuple[float, float, float]) -> int:
        return linked(joints, np.array(middle) - half, np.array(middle) + half)

    assert through((-0.03, 0.0, -0.03)) == 1
    assert through((-0.03, 0.034, -0.03)) == 1
    assert through((-0.03, 0.036, -0.03)) == 0, "beyond its end"
    assert through((-0.03, 0.0, 0.06)) == 0, "beside it"
