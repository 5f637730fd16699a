"""Where box, pin and hand are at the start, from what is drawn of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.spatial.transform import Rotation

from enpire.types import FloatArray

from .frames import AHEAD, BOX_AT, GRIP, hand_rotation
from .parts import HOLES


@dataclass(frozen=True, slots=True)
class Start:
    """Positions (3,) [m] and frames (3, 3) in the world: of box, last pin (its end), and hand."""

    box: FloatArray
    box_frame: FloatArray
    end: FloatArray
    pin_frame: FloatArray
    hand: FloatArray
    hand_frame: FloatArray

    @classmethod
    def of(cls, drawn: FloatArray) -> Start:
        """Drawn: values of `PinBox.target_names`."""
        box, frame = box_pose(drawn[:3])
        ahead, height, tilted = drawn[9:12]
        turn = Rotation.from_rotvec(drawn[6:9]).as_matrix()
        hand_frame = turn @ hand_rotation(0.0, drawn[2])
        end = box + frame @ HOLES[-1] + drawn[3:6]
        tilt = Rotation.from_rotvec(tilted * hand_frame[:, 0]).as_matrix()  # flat on the pads
        pin_frame = tilt @ turn @ frame
        hand = end + pin_frame @ (0, 0, GRIP + height) - hand_frame[:, 2] * (AHEAD + ahead)
        return cls(box, frame, end, pin_frame, hand, hand_frame)


def box_pose(drawn: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Position [m] and frame of a box that is drawn (x, y [m], yaw [rad]) off its nominal place."""
    frame = Rotation.from_rotvec((0.0, 0.0, drawn[2])).as_matrix()
    return BOX_AT + np.array([drawn[0], drawn[1], 0.0]), frame
