"""Velocities that are no speed of positions, and grippers that go the other way."""

from __future__ import annotations

import numpy as np
import pytest

from enpire.drivers.speeds import Moment, speed_of, told_share, untrue_states

STAMPS = 0.02 * np.arange(1000)
POSITION = np.stack([0.5 * np.sin(STAMPS), np.zeros_like(STAMPS)], axis=1)
VELOCITY = np.stack([0.5 * np.cos(STAMPS), np.zeros_like(STAMPS)], axis=1)
AXES = ("arm_joint1", "arm_gripper")
GRIPPERS = np.array([1])


def moments(velocity: np.ndarray, gripper: np.ndarray, sent: np.ndarray) -> list[Moment]:
    """An arm that swings, with these velocities, and a gripper."""
    position = np.stack([POSITION[:, 0], gripper], axis=1)
    asked = np.stack([POSITION[:, 0], sent], axis=1)
    rows = zip((STAMPS * 1e9).astype(int), position, velocity, asked, strict=True)
    return [Moment(int(stamp), *others) for stamp, *others in rows]


@pytest.mark.parametrize("factor", [0.0, -1.0, 0.01, 57.3, 9.55])
def test_velocities_in_another_unit_are_told(factor) -> None:
    still = np.zeros(len(STAMPS))
    said = untrue_states(moments(factor * VELOCITY, still, still), AXES, GRIPPERS)
    assert said.startswith(f"arm_joint1 says velocities that are {factor:.3g} times those of its")


def test_velocities_that_are_late_noisy_or_not_told_are_no_fault() -> None:
    rng, still = np.random.default_rng(0), np.zeros(len(STAMPS))
    for velocity in (
        VELOCITY,
        np.roll(VELOCITY, 5, axis=0),
        VELOCITY + rng.normal(0, 0.1, VELOCITY.shape),
        np.full_like(VELOCITY, np.nan),
    ):
        assert untrue_states(moments(velocity, still, still), AXES, GRIPPERS) == ""
    lies = POSITION.copy()
    lies[300:320, 0] += 0.3
    assert told_share(STAMPS, lies, VELOCITY)[0] == pytest.approx(1.0, abs=0.05)


def test_a_gripper_that_is_upside_down_is_told() -> None:
    sent = np.where(STAMPS % 6 < 3, 0.1, 1.2)
    goes = np.where(STAMPS % 6 < 3.1, 0.1, 1.2)
    said = untrue_states(moments(VELOCITY, 1.3 - goes, sent), AXES, GRIPPERS)
    assert said.startswith("arm_gripper goes the other way than it is sent")
    assert untrue_states(moments(VELOCITY, goes, sent), AXES, GRIPPERS) == ""
    held = np.maximum(goes, 0.5)  # something is between its fingers
    assert untrue_states(moments(VELOCITY, held, sent), AXES, GRIPPERS) == ""


def test_what_is_not_told_is_worked_out() -> None:
    still = np.zeros(len(STAMPS))
    past = moments(np.full_like(VELOCITY, np.nan), still, still)[:50]
    assert speed_of(past)[0] == pytest.approx(VELOCITY[48, 0], abs=0.01)
    assert speed_of(past[:1]).tolist() == [0.0, 0.0]
