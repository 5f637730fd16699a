"""What a streamer asks for is what an arm can follow, so that no supervisor has to send less."""

from __future__ import annotations

import numpy as np

from enpire.packs import find, load_robot
from enpire.safety.gate import Motion, advance
from enpire.safety.limits import of_robot
from enpire.safety.pursuit import Pursuit
from enpire.safety.rules import Rule
from tests.safety.rig import PERIOD, Anywhere

ROBOT = load_robot(find("robots", "so101"))
LIMITS = of_robot(ROBOT)
HOME = np.array([*ROBOT.arms[0].home, 0.05])


def shaken(times: np.ndarray, reach: float) -> np.ndarray:
    """A wrist that turns to and fro five times a second."""
    wrist = np.array([0.0, 0.0, 0.0, 0.0, 1.0, 0.0])
    return HOME + reach * np.sin(10 * np.pi * times)[:, None] * wrist


def test_what_it_asks_for_is_sent_as_it_is_however_fast_the_curve_turns() -> None:
    pursuit, motion = Pursuit(LIMITS, PERIOD), Motion.at_rest(HOME)
    for wanted in shaken(np.arange(300) * PERIOD, 0.3):
        asked = pursuit.next(wanted, motion.position)
        step = advance(motion, motion.position, asked, LIMITS, Anywhere(), PERIOD)
        assert step.rules is Rule.NONE
        assert step.motion is not None
        motion = step.motion
        assert np.allclose(motion.position, asked, atol=1e-12)


def test_a_curve_within_the_limits_is_followed_to_the_point() -> None:
    pursuit = Pursuit(LIMITS, PERIOD)
    for wanted in shaken(np.arange(1, 300) * PERIOD, 0.01):
        assert np.allclose(pursuit.next(wanted, HOME), wanted, atol=1e-12)


def test_after_a_rest_it_begins_where_the_arm_was_sent() -> None:
    pursuit = Pursuit(LIMITS, PERIOD)
    pursuit.next(HOME + 0.1, HOME)
    pursuit.rest()
    elsewhere = HOME - 0.2
    assert np.allclose(pursuit.next(elsewhere, elsewhere), elsewhere)
