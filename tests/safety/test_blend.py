"""Setpoints a control period apart become a curve without a jump in place or speed."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from enpire.safety.blend import Segment
from enpire.safety.limits import SafetyLimits
from enpire.safety.machine import Mode
from enpire.safety.messages import SupervisorStatus, TimedSetpoint
from enpire.safety.pursuit import Pursuit
from enpire.safety.rules import GateRule
from enpire.safety.streaming import RESTS, Curve

MS = 10**6
T = 0.04


def curve(setpoints: list[float], late: list[int] | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Positions and speeds every millisecond of setpoints 40 ms apart, or some ms later."""
    segment = Segment.at_rest(np.zeros(1))
    places, speeds = [], []
    for k, setpoint in enumerate(setpoints):
        now = (40 * k + (late[k] if late else 0)) * MS
        segment = segment.towards(now, np.array([setpoint]), T)
        until = 40 * (k + 1) + (late[k + 1] if late and k + 1 < len(late) else 0)
        for t in range(now // MS, until):
            place, speed = segment.at(t * MS)
            places.append(place[0])
            speeds.append(speed[0])
    return np.array(places), np.array(speeds)


@given(st.lists(st.floats(-0.02, 0.02), min_size=2, max_size=12))
def test_place_and_speed_are_continuous_wherever_the_setpoints_are(steps) -> None:
    places, speeds = curve(np.cumsum(steps).tolist())
    fastest = 1.5 * 0.02 / T + 0.02 / T
    assert abs(np.diff(places)).max() <= fastest * 1e-3 + 1e-12
    # A cubic's acceleration is at most 6 d / T^2 + 4 v / T.
    assert abs(np.diff(speeds)).max() <= (6 * 0.02 / T**2 + 6 * 0.02 / T**2) * 1e-3 + 1e-9


def test_steady_setpoints_make_a_steady_curve_one_period_behind() -> None:
    places, speeds = curve([0.01 * k for k in range(1, 11)])
    assert np.allclose(speeds[80:], 0.01 / T)
    assert np.allclose(places[80:], 0.01 / T * 1e-3 * np.arange(80, 400))


def test_it_reaches_each_setpoint_and_does_not_overshoot_a_single_step() -> None:
    places, _ = curve([1.0, 1.0, 1.0])
    assert places.max() <= 1.0 + 1e-12
    assert places[40] == 1.0


def test_setpoints_that_come_late_or_early_make_no_jump() -> None:
    places, speeds = curve([0.01 * k for k in range(1, 9)], late=[0, 13, -9, 25, 0, 3, 17, -12])
    assert abs(np.diff(places)).max() < 0.001
    assert abs(np.diff(speeds)).max() < 0.05


def axis(acceleration: float = 1e9) -> SafetyLimits:
    """One axis without a limit but these."""
    far, box = np.array([1e9]), np.full(3, 9.0)
    return SafetyLimits(
        -far, far, far, np.array([acceleration]), far, 1e9, -box, box, 1e9, 1e9, 0.0
    )


def status(epoch: int, mode: Mode, sent: float) -> SupervisorStatus:
    one = np.array([sent])
    rest = (one, one, one, np.zeros((1, 3)), 0)
    return SupervisorStatus(0, 0, epoch, mode, GateRule.NONE, 0, -1, 0, *rest)


def knot(epoch: int, at: int, setpoint: float) -> TimedSetpoint:
    return TimedSetpoint(epoch, at, T, np.array([setpoint]))


def test_without_a_next_setpoint_it_comes_to_rest_and_asks_for_rest() -> None:
    stream = Curve(Pursuit(axis(), 0.01))
    assert stream.next(status(3, Mode.ARMED, 0.0), None, 0) is None
    sent, asked, said = 0.0, 0, []
    for t in range(0, 400, 10):
        new = knot(3, t * MS, 0.01 * (t // 40 + 1)) if t in (0, 40, 80) else None
        resting = asked >= RESTS
        wanted = stream.next(status(3, Mode.ARMED if resting else Mode.MOVING, sent), new, t * MS)
        if wanted is None:
            break
        sent, asked = float(wanted[0][0]), asked + wanted[1]
        said.append(sent)
    assert wanted is None
    assert asked >= RESTS
    assert said[-1] == pytest.approx(0.03, abs=1e-12)
    assert abs(np.diff(said)).max() < 0.006


def test_setpoints_of_another_epoch_and_old_ones_move_nothing() -> None:
    stream = Curve(Pursuit(axis(), 0.01))
    assert stream.next(status(3, Mode.ARMED, 0.0), knot(2, 0, 1.0), 0) is None
    assert stream.next(status(3, Mode.ARMED, 0.0), knot(3, 0, 1.0), 100 * MS) is None
    assert stream.next(status(3, Mode.HOLDING, 0.0), knot(3, 0, 1.0), 0) is None
    assert stream.next(status(3, Mode.ARMED, 0.5), knot(3, 0, 1.0), 0) is not None
    assert stream.next(status(4, Mode.ARMED, 0.5), None, 10 * MS) is None
