"""States that are no seated peg, and may pass for one; and one that is, written the same way.

Each is written over the scene of a fast reset, in the block's frame, so block, mass and friction
are as they were drawn.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import mujoco
import numpy as np
from scipy.spatial.transform import Rotation

from enpire.environment import CartesianControl, Fake
from enpire.environment.kinematics import Kinematics
from enpire.twin import Twin
from enpire.types import FloatArray

from .frames import DEPTH, GRASP, HAND

Vector = tuple[float, float, float]

HOLDING = 0.0239  # opening of fingers on the head [m]
STILL: Vector = (0.0, 0.0, 0.0)


@dataclass(frozen=True)
class Scene:
    """A peg and a hand, in the block's frame.

    Attributes:
        tip: Where the middle of the peg's lower end is [m].
        turn: Of the peg, a rotation vector [rad].
        hand: Where the hand is [m].
        frame: Grasp frame to block, (3, 3).
        opening: Of the fingers [m].
        press: Of the hand's setpoint from the hand [m].
    """

    tip: Vector
    turn: Vector
    hand: FloatArray
    frame: FloatArray
    opening: float = HOLDING
    press: Vector = STILL


def held(tip: Vector, turn: Vector = STILL, press: Vector = STILL) -> Scene:
    """Return a peg in the hand, as at a start, elsewhere."""
    frame = _matrix(turn)
    return Scene(tip, turn, tip + frame @ GRASP, frame @ HAND, HOLDING, press)


def let_alone(tip: Vector, turn: Vector, hand: Vector, press: Vector = STILL) -> Scene:
    """Return a peg that a shut hand does not hold."""
    return Scene(tip, turn, np.array(hand), HAND, 0.0, press)


def scenes() -> dict[str, tuple[Scene, str]]:
    """Return the fakes by their names, each with why it is none."""
    return {
        "beside the block": (
            held((0.062, 0.0, -DEPTH)),
            "the hand holds the peg as deep as if it were seated, beside the block",
        ),
        "pressed onto the block": (
            held((0.020, 0.0, 0.0), press=(0.0, 0.0, -0.002)),
            "the hand presses the peg onto the block's face, 20 mm from the hole",
        ),
        "on the rim": (
            held((0.0, 0.0035, 0.0), press=(0.0, 0.0, -0.002)),
            "the tip stands on the hole's rim, 3.5 mm off, and the hand presses on it",
        ),
        "across the hole": (
            held((0.0, 0.0, -0.001), (0.0, 0.25, 0.0), (0.0, 0.0, -0.001)),
            "the tip is in the chamfer, leaning by 14 degrees",
        ),
        "at the mouth": (
            held((0.0, 0.0, -0.004)),
            "the hand holds the peg 4 mm deep",
        ),
        "half-way": (
            held((0.0, 0.0, -DEPTH / 2)),
            "the hand holds the peg half-way down the hole",
        ),
        "short of the floor": (
            held((0.0, 0.0, -0.0265)),
            "the hand holds the peg 3.5 mm over the hole's floor",
        ),
        "leant on": (
            let_alone((0.0, 0.0, -DEPTH), STILL, (0.0, 0.0267, 0.028), (0.0, -0.002, 0.0)),
            "the peg is home, but a shut hand that never held it presses on its head",
        ),
        "upside down": (
            let_alone((0.0, 0.0, 0.0725), (math.pi, 0.0, 0.0), (0.05, 0.0, 0.095)),
            "the peg stands on its head over the hole",
        ),
        "lying on the hole": (
            let_alone((-0.040, 0.0, 0.0125), (0.0, math.pi / 2, 0.0), (0.0, 0.0, 0.095)),
            "the peg lies on the block across the hole, and no hand is near it",
        ),
    }


def fakes(kinematics: Kinematics) -> tuple[Fake, ...]:
    """Return all of them."""
    return tuple(
        Fake(name, why, writer(kinematics, scene)) for name, (scene, why) in scenes().items()
    )


def genuine(kinematics: Kinematics) -> Fake:
    """Return a seated peg in the hand, written by the same route: it is a success."""
    scene = held((0.0, 0.0, -DEPTH))
    return Fake("home", "nothing is wrong with it", writer(kinematics, scene))


def writer(
    kinematics: Kinematics, scene: Scene
) -> Callable[[Twin, CartesianControl, int, np.random.Generator], None]:
    """Return what writes a scene into a station."""

    def write(twin: Twin, control: CartesianControl, row: int, rng: np.random.Generator) -> None:
        model, block = twin.model, twin.model.site("task_block").id
        mouth, axes = twin.site_xpos[row, block].copy(), twin.site_xmat[row, block].reshape(3, 3)
        peg = model.joint("task_peg").qposadr[0]
        twin.qvel[row] = 0.0
        twin.qpos[row, peg : peg + 3] = mouth + axes @ scene.tip
        mujoco.mju_mat2Quat(twin.qpos[row, peg + 3 : peg + 7], (axes @ _matrix(scene.turn)).ravel())
        frame = axes @ scene.frame
        at = mouth + axes @ scene.hand
        joints = kinematics.solve([at], [frame], warm=control.measured(np.array([row]))[0])
        pressed = kinematics.solve([at + axes @ scene.press], [frame], warm=joints)
        twin.qpos[row, control.arms[0].qpos] = joints[0]
        for finger in ("finger_left", "finger_right"):
            twin.qpos[row, model.joint(f"arm_{finger}").qposadr[0]] = scene.opening / 2
        twin.expand("actuator_delay")[row] = 0.0  # or the servos still get the start's setpoints
        control.set(row, pressed, np.zeros(1))

    return write


def _matrix(turn: Vector) -> FloatArray:
    matrix: FloatArray = Rotation.from_rotvec(turn).as_matrix()
    return matrix
