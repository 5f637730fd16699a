"""The zip tie's demonstrator, where an arm does not go where it is led."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from enpire.environment import Readings
from enpire.types import FloatArray

from .test_physics import RIGHT, task
from .test_verify import readings


def held_at(height: float) -> Readings:
    """A tail before the slot, its hand at some height [m]."""
    frames_at = np.array([[[0.42, 0.0, 0.2], [0.42, -0.08, height]]])
    return replace(readings(depth=-0.030), hand_position=frames_at)


def motion(action: FloatArray) -> FloatArray:
    return np.delete(action, [6, 13])


def test_a_hand_that_has_sunk_out_of_its_place_is_led_no_further() -> None:
    person = task().demonstrator(np.random.default_rng(0))
    low = task().actions.arms[RIGHT].low[2]
    assert motion(person.act(held_at(low))).any()
    stopped = person.act(held_at(low - 0.004))
    assert not motion(stopped).any()
    assert (stopped[[6, 13]] == -1).all(), "and holds what it has"
    assert not motion(person.act(held_at(low))).any(), "for good"


def test_near_its_wrists_stop_an_arm_is_led_slowly() -> None:
    seen = held_at(0.19)
    led = {}
    for angle in (0.0, 1.5, 1.57):
        joints = np.zeros((1, 2, 6))
        joints[0, RIGHT, 3] = angle
        led[angle] = task().demonstrator(np.random.default_rng(0)).act(replace(seen, joints=joints))
    np.testing.assert_array_equal(led[1.5], led[0.0])
    np.testing.assert_array_equal(led[1.57][:7], led[0.0][:7])
    assert abs(led[1.57][7:13]).max() < 0.4
    assert led[1.57][13] == -1.0
