"""States that are no success, although they may pass for one, to hold verifier and truth against.

Hands are written about a pin by the arm's inverse kinematics, and press by setpoints that are
ahead of them. The verifier then opens the fingers and backs off as ever.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import mujoco
import numpy as np
from scipy.spatial.transform import Rotation

from enpire.environment import CartesianControl, Fake
from enpire.twin import Twin
from enpire.types import FloatArray

from .frames import AHEAD, GRIP, hand_rotation
from .parts import DEPTH, HOLES, PIN_LENGTH, PIN_RADIUS, PINS, TRAY
from .reach import joints

OPEN, SHUT, HELD = 0.022, 0.0, 0.0035  # gripper: as the verifier has it; of a gripped pin [m]
AWAY = (-0.055, 0.0, 0.030)  # of a hand that is nowhere near a pin, box frame [m]
LAST = PINS - 1
SEATED = HOLES - (0.0, 0.0, DEPTH)  # ends of the pins, box frame [m]
UPRIGHT: FloatArray = np.eye(3)
# Of a pin from the grasp point of a hand whose open finger has it at its outer side: across the
# hand and along it [m]. The verifier backs off, and then it has slid along the finger.
OUTSIDE = np.array([0.0268, -0.034])
OVER = 0.017  # across the hand, of the middle of an open finger [m]

Pose = tuple[FloatArray, FloatArray]
"""Position (3,) [m] and frame (3, 3) of a pin's end, box frame."""


@dataclass(frozen=True, slots=True)
class Scene:
    """What is written into a station, all in the box's frame.

    pins: poses of those that are not seated, by number. hand: where the level hand's grasp point
    is [m]. opening: of the gripper, and what it is told [m]. presses: how far the hand's setpoint
    is ahead of it (3,) [m].
    """

    pins: dict[int, Pose] = field(default_factory=dict)
    hand: tuple[float, float, float] = AWAY
    opening: tuple[float, float] = (OPEN, OPEN)
    presses: tuple[float, float, float] = (0.0, 0.0, 0.0)

    def write(
        self, twin: Twin, control: CartesianControl, row: int, rng: np.random.Generator
    ) -> None:
        """Write it into the station `row`, at rest."""
        model, site = twin.model, twin.model.site("task_box").id
        box, frame = twin.site_xpos[row, site].copy(), twin.site_xmat[row, site].reshape(3, 3)
        frame = frame.copy()
        twin.qvel[row] = 0.0
        for pin in range(PINS):
            end, turn = self.pins.get(pin, (SEATED[pin], UPRIGHT))
            at = model.joint(f"task_pin{pin}").qposadr[0]
            twin.qpos[row, at : at + 3] = box + frame @ end
            mujoco.mju_mat2Quat(twin.qpos[row, at + 3 : at + 7], (frame @ turn).ravel())
        arm, rotation = control.arms[0], frame @ hand_rotation()
        hand, ahead = box + frame @ self.hand, frame @ self.presses
        twin.qpos[row, arm.qpos] = joints(hand, rotation)
        for side in ("left", "right"):
            finger = model.joint(f"{arm.name}_finger_{side}").qposadr[0]
            twin.qpos[row, finger] = self.opening[0] / 2
        setpoints = joints(hand + ahead, rotation)
        control.set(row, setpoints[None], np.array([self.opening[1]]))


def seated() -> Scene:
    """A success: every pin in its hole, and the hand away."""
    return Scene()


def fakes() -> tuple[Fake, ...]:
    """All of them."""
    return tuple(
        Fake(name, why, scene.write)
        for name, why, scene in (
            (
                "a finger leans on a seated pin",
                "the hand has not let go: with its outer side it holds the last pin where it is",
                _leaning(DEPTH),
            ),
            (
                "a finger jams a pin half-way",
                "the last pin hangs 6 mm from home, or is home with a finger that leans on it",
                _leaning(DEPTH - 0.006),
            ),
            (
                "the hand rests on a pin",
                "a finger lies on the last pin and presses it down",
                Scene(
                    hand=_beside(OVER, OUTSIDE[1], PIN_LENGTH - DEPTH + 0.0062),
                    presses=(0.0, 0.0, -0.012),
                ),
            ),
            (
                "held beside the box as deep as in it",
                "the last pin is in the fingers, and in no hole",
                Scene(
                    pins={LAST: (np.array([HOLES[LAST, 0], 0.022, -DEPTH]), UPRIGHT)},
                    hand=(HOLES[LAST, 0] - AHEAD, 0.022, GRIP - DEPTH),
                    opening=(HELD, SHUT),
                ),
            ),
            (
                "two pins in each other's holes",
                "each is in a hole, and not in its own",
                Scene(pins={0: (SEATED[1], UPRIGHT), 1: (SEATED[0], UPRIGHT)}),
            ),
            (
                "upside down in its hole",
                "the end that belongs into the hole looks out of it",
                Scene(pins={1: (SEATED[1] + (0.0, 0.0, PIN_LENGTH), _turned((np.pi, 0.0, 0.0)))}),
            ),
            (
                "standing beside its hole",
                "the last pin stands on the face, upright, 4.5 mm from its hole",
                Scene(pins={LAST: (HOLES[LAST] + (0.0, 0.0045, 0.0), UPRIGHT)}),
            ),
            (
                "standing in the tray",
                "the last pin is upright and deeper than a hole, beside the box",
                Scene(pins={LAST: (np.array([-0.060, 0.040, TRAY]), UPRIGHT)}),
            ),
            (
                "where one camera sees it in its hole",
                "the last pin stands in the tray, in the line from the front camera to its hole",
                Scene(pins={LAST: (np.array([-0.070, -0.038, TRAY]), UPRIGHT)}),
            ),
            (
                "lying on the face",
                "the last pin lies across its hole",
                Scene(
                    pins={
                        LAST: (
                            HOLES[LAST] + (0.0, 0.010, PIN_RADIUS),
                            _turned((np.pi / 2, 0.0, 0.0)),
                        )
                    }
                ),
            ),
        )
    )


def _beside(across: float, along: float, height: float) -> tuple[float, float, float]:
    """Of a level hand that has the last pin's axis there, in its own frame, at a height [m]."""
    x, y, _ = HOLES[LAST] - hand_rotation() @ (across, 0.0, along)
    return x, y, height


def _leaning(depth: float) -> Scene:
    """The outer side of a finger presses the last pin, so deep in its hole [m], sideways."""
    return Scene(
        pins={LAST: (HOLES[LAST] - (0.0, 0.0, depth), UPRIGHT)},
        hand=_beside(*OUTSIDE, 0.020),
        presses=(0.0, 0.014, 0.0),
    )


def _turned(by: tuple[float, float, float]) -> FloatArray:
    turn: FloatArray = Rotation.from_rotvec(by).as_matrix()
    return turn
