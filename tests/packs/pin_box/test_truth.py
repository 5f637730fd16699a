"""What the simulator knows: by shapes and contacts, and by nothing of the verifier's."""

from __future__ import annotations

import numpy as np
import pytest

from enpire.environment import Demonstrations, Job, Stations, build_stations
from enpire.types import Purpose
from tests.packs.starting import finish

from .samples import module

EVERY = {"home", "inside", "untouched"}


@pytest.fixture(scope="module")
def after() -> Stations:
    """A station after a success."""
    stations = build_stations("pin_box", 1, 1)
    job = Job(0, Purpose.DEMONSTRATION, Demonstrations(stations.task), "d")
    stations.begin(0, job)
    assert finish(stations).success
    return stations


def missed(stations: Stations) -> set[str]:
    return EVERY - {p.name for p in stations.task.ground_truth(stations.twin, 0) if p.holds}


def test_after_a_success_every_condition_holds(after: Stations) -> None:
    home, inside, untouched = after.task.ground_truth(after.twin, 0)
    assert home.value < 0.1
    assert 0.0 <= inside.value < 0.25
    assert 15.0 < untouched.value < 40.0


@pytest.mark.parametrize("pin", [0, 1, 2])
@pytest.mark.parametrize(
    ("by", "quaternion", "misses"),
    [
        ((0, 0.0045, 0.014), (1, 0, 0, 0), {"home", "inside"}),  # on the face
        ((0, 0, 0.032), (0, 1, 0, 0), {"home"}),  # upside down
        ((0.08, 0.06, 0.0), (1, 0, 0, 0), {"home", "inside"}),  # under the tray's bristles
    ],
)
def test_each_pin_has_to_stand_home_in_its_hole(
    after: Stations,
    pin: int,
    by: tuple[float, ...],
    quaternion: tuple[float, ...],
    misses: set[str],
) -> None:
    twin = after.twin
    at, before = twin.model.joint(f"task_pin{pin}").qposadr[0], twin.qpos[0].copy()
    twin.qpos[0, at : at + 3] += by
    twin.qpos[0, at + 3 : at + 7] = quaternion
    try:
        assert misses <= missed(after)
    finally:
        twin.qpos[0] = before


def test_a_pin_that_would_drop_home_is_home_and_the_station_is_left_as_it_was(
    after: Stations,
) -> None:
    """What is asked is what happens when nobody holds it; the copy alone moves."""
    twin = after.twin
    at, before = twin.model.joint("task_pin2").qposadr[0], twin.qpos[0].copy()
    twin.qpos[0, at + 2] += 0.003
    lifted = twin.qpos[0].copy()
    try:
        assert not missed(after)
        np.testing.assert_array_equal(twin.qpos[0], lifted)
    finally:
        twin.qpos[0] = before


def test_a_hand_at_a_pin_touches_it(after: Stations) -> None:
    """Its palm too, where a finger is nowhere near."""
    twin, arm = after.twin, after.control.arms[0]
    before = twin.qpos[0].copy()
    at = twin.model.joint("task_pin2").qposadr[0]
    frames = module("frames")
    for along in (frames.AHEAD, -0.040):
        hand = twin.qpos[0, at : at + 3] + np.array([-along, 0.0, frames.GRIP])
        twin.qpos[0, arm.qpos] = module("reach").joints(hand, frames.hand_rotation())
        for side in ("left", "right"):
            finger = twin.model.joint(f"arm_finger_{side}").qposadr[0]
            twin.qpos[0, finger] = 0.0019
        assert missed(after) == {"untouched"}
        twin.qpos[0] = before
