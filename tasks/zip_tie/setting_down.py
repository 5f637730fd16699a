"""How the verifier's left hand sets a fastened tie down on its bundle before it opens.

A head that is let go where a policy left it is aslant, and higher than where its loop hangs by
itself. It falls then, and the loop swings, leans or tumbles, so that nobody can tell whether it
stays on the bundle. Of 14 ties that were judged unsure for that the simulator called 9 fastened.
In the last half second loops lean anew by up to 0.28 rad without it (120 ties of a policy), and by
up to 0.09 rad with it (200).
"""

from __future__ import annotations

import numpy as np
from scipy.spatial.transform import Rotation

from enpire.environment import Readings
from enpire.types import FloatArray

from .frames import HEAD_AT, LEFT, hand_rotation

DOWN = np.array([0.0, 0.0, -0.015])  # from where a head is held at the start [m]
BESIDE = 0.015  # the bundle's middle, along it, from where a tie is brought there [m]
UPRIGHT = 6  # readings in which the hand turns the head upright, until it goes down
# Of what is left, in a reading. A hand that goes all of it at once has the loop swing: by 0.16 rad
# where it is 0.12 with this, and 1 of 200 fell off.
SHARE = 0.5
FACING = hand_rotation(LEFT)


def set_down(readings: Readings, since: int) -> tuple[FloatArray, FloatArray]:
    """How far the left hand is to go [m] and to turn [rad] in a control period, each (3,).

    First it turns its pads level and goes over the bundle's middle. Then it goes down. It brings
    no tie from far off, which may go round nothing until then.

    since: readings since it began.
    """
    way = HEAD_AT + DOWN - readings.hand_position[0, LEFT]
    way[2] *= since > UPRIGHT
    way[0] *= abs(way[0]) < BESIDE
    turn = Rotation.from_matrix(FACING @ readings.hand_rotation[0, LEFT].T).as_rotvec()
    return SHARE * way, SHARE * turn
