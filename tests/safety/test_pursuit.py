"""What a streamer asks for is what an arm can follow, so that no supervisor has to send less."""

from __future__ import annotations

import numpy as np

from enpire.packs import find, load_robot
from enpire.safety.gate import SentSetpoint, advance
from enpire.safety.limits import SafetyLimits, of_robot
from enpire.safety.pursuit import Pursuit
from enpire.safety.rules import GateRule
from tests.safety.rig import PERIOD, Anywhere

ROBOT = load_robot(find("robots", "so101"))
LIMITS = of_robot(ROBOT)
HOME = np.array([*ROBOT.arms[0].home, 0.05])


def shaken(times: np.ndarray, reach: float) -> np.ndarray:
    """A wrist that turns to and fro five times a second."""
    wrist = np.array([0.0, 0.0, 0.0, 0.0, 1.0, 0.0])
    return HOME + reach * np.sin(10 * np.pi * times)[:, None] * wrist


def pursued(curve: np.ndarray, limits: SafetyLimits = LIMITS) -> tuple[np.ndarray, list[GateRule]]:
    """What is sent of a curve, and the rules that acted, under a supervisor's own limits."""
    pursuit, motion = Pursuit(LIMITS, PERIOD), SentSetpoint.at_rest(HOME)
    sent, rules = [], []
    for tick, wanted in enumerate(curve):
        asked = pursuit.next(wanted, motion.position, round(tick * PERIOD * 1e9))
        step = advance(motion, motion.position, asked, limits, Anywhere(), PERIOD)
        assert step.motion is not None
        motion = step.motion
        sent.append(motion.position)
        rules.append(step.rules)
    return np.array(sent), rules


def test_what_it_asks_for_is_sent_as_it_is_however_fast_the_curve_turns() -> None:
    _, rules = pursued(shaken(np.arange(300) * PERIOD, 0.3))
    assert set(rules) == {GateRule.NONE}


def test_a_curve_within_the_limits_is_followed_to_the_point() -> None:
    curve = shaken(np.arange(300) * PERIOD, 0.01)
    assert np.allclose(pursued(curve)[0], curve, atol=1e-9)


def test_it_goes_on_from_what_was_sent_if_that_was_less() -> None:
    curve = shaken(np.arange(300) * PERIOD, 0.3)
    sent, rules = pursued(curve, LIMITS.slower(0.5))
    assert GateRule.SPEED | GateRule.ACCELERATION in rules
    asked = Pursuit(LIMITS, PERIOD).next(curve[-1], sent[-1], 0)
    assert (abs(asked - sent[-1]) <= LIMITS.acceleration * PERIOD**2).all()
    assert abs(sent - curve).max() < 0.35


def test_after_a_rest_it_begins_where_the_arm_was_sent() -> None:
    pursuit = Pursuit(LIMITS, PERIOD)
    pursuit.next(HOME + 0.1, HOME, 0)
    pursuit.rest()
    elsewhere = HOME - 0.2
    assert np.allclose(pursuit.next(elsewhere, elsewhere, 10**7), elsewhere)
