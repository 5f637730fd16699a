"""States that are no seated card, and may pass for one; and one that is, written the same way.

Each is written over the scene of a fast reset, in the slot's frame, so slot, mass, friction and
springs are as they were drawn. Hands that bear the card have their setpoints over it by as much as
its weight takes.
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

from .frames import DEPTH, GRASPS, HALF, LEFT, RIGHT, hand_rotation

Vector = tuple[float, float, float]

HOLDING = 0.0113  # opening of fingers on the card [m]
SPRINGS = 0.0036  # depth at which the edge stands on the contact springs [m]
SPREAD = 0.0002  # by which the edge spreads a spring [m]
JAWS = {"left": 0.022, "right": -0.022}  # middles of the springs along the slot [m]
BEARS = 0.013  # by which setpoints are over hands that bear a card, for each kg of it [m]
STILL: Vector = (0.0, 0.0, 0.0)


@dataclass(frozen=True)
class Hand:
    """A hand in the slot's frame.

    at [m]. frame: grasp frame to slot. opening [m]. press: of its setpoint from it [m].
    """

    at: FloatArray
    frame: FloatArray
    opening: float = HOLDING
    press: Vector = STILL


@dataclass(frozen=True)
class Scene:
    """A card and both hands, in the slot's frame.

    at: of the edge's middle [m]. turn: of the card, a rotation vector [rad]. hands: left, right.
    borne: share of the card's weight that the hands bear.
    """

    at: Vector
    turn: Vector
    hands: tuple[Hand, Hand]
    borne: float = 0.0


def held(at: Vector, turn: Vector = STILL, press: Vector = STILL, borne: float = 1.0) -> Scene:
    """A card in both hands, as at a start, elsewhere."""
    frame = _matrix(turn)
    hands = [
        Hand(at + frame @ GRASPS[arm], frame @ hand_rotation(arm), HOLDING, press)
        for arm in (LEFT, RIGHT)
    ]
    return Scene(at, turn, (hands[LEFT], hands[RIGHT]), borne)


def let_alone(at: Vector, turn: Vector) -> Scene:
    """A card that shut hands, 60 mm before it and high above it, do not touch."""
    away = np.array([0.06, 0.0, 0.03])
    hands = [Hand(GRASPS[arm] + away, hand_rotation(arm), 0.0) for arm in (LEFT, RIGHT)]
    return Scene(at, turn, (hands[LEFT], hands[RIGHT]))


def leant_on() -> Scene:
    """A seated card in the left hand; the right one, shut, presses on its face from the front."""
    seated = held((0.0, 0.0, -DEPTH), borne=0.0)
    before = GRASPS[RIGHT] + np.array([0.022, 0.0, -DEPTH])
    presses = Hand(before, hand_rotation(RIGHT), 0.0, (-0.004, 0.0, 0.0))
    return Scene(seated.at, STILL, (seated.hands[LEFT], presses))


def turned_round(at: Vector, turn: Vector) -> Scene:
    """A card that is turned round, in hands that come from above, as ever, 65 mm to either side."""
    places = np.array([(0.0, 0.065, 0.068), (0.0, -0.065, 0.068)])
    hands = [Hand(places[arm], hand_rotation(arm)) for arm in (LEFT, RIGHT)]
    return Scene(at, turn, (hands[LEFT], hands[RIGHT]))


def scenes() -> dict[str, tuple[Scene, str]]:
    """The fakes by their names, each with why it is none."""
    step = DEPTH - SPRINGS
    slope = -step / (2 * HALF)
    return {
        "beside the slot": (
            held((0.012, 0.0, -DEPTH)),
            "hands hold the card as deep as if it were seated, 12 mm before the slot",
        ),
        "pressed onto the board": (
            held((0.012, 0.0, -0.0111), press=(0.0, 0.0, -0.010)),
            "hands press the edge onto the motherboard beside the slot; it is deeper than seated",
        ),
        "pinched against the slot": (
            held((-0.0060, 0.0, -DEPTH), press=(0.010, 0.0, 0.0)),
            "hands press the edge against the outside of the slot's wall, as deep as seated",
        ),
        "on the end wall": (
            held((0.0, 0.005, 0.0), press=(0.0, 0.004, -0.001)),
            "the edge is in the slot's line, five contact pitches along it, on its end wall",
        ),
        "across the slot": (
            held((0.0, 0.0, 0.0005), (0.0, 0.0, 0.12), (0.0, 0.0, -0.003)),
            "the edge stands on the slot's rim, turned by 7 degrees, and hands press on it",
        ),
        "on the contact springs": (
            held((0.0, 0.0, -SPRINGS), borne=0.5),
            "the edge stands on the springs, which have not given way, under its weight and hands",
        ),
        "short of the floor": (
            held((0.0, 0.0, -0.0058)),
            "hands hold the edge 1.7 mm over the slot's floor, between the springs",
        ),
        "one end home": (
            held((0.0, 0.0, -DEPTH + step / 2), (slope, 0.0, 0.0)),
            "the left end is on the floor, the right one on its springs",
        ),
        "leant on": (
            leant_on(),
            "the card is home, but a hand that never held it presses on its face",
        ),
        "reversed": (
            turned_round((0.0, 0.0, -DEPTH), (0.0, 0.0, math.pi)),
            "the edge is home the wrong way round, its contacts on the wrong side",
        ),
        "upside down": (
            turned_round((0.0, 0.0, 0.0885), (math.pi, 0.0, 0.0)),
            "the cooler's upper side stands on the slot; it leans to neither side",
        ),
        "lying on the slot": (
            let_alone((-0.044, 0.0, 0.007), (0.0, math.pi / 2, 0.0)),
            "the card lies flat on the slot, and no hand is near it",
        ),
    }


def fakes(kinematics: Kinematics) -> tuple[Fake, ...]:
    """All of them."""
    return tuple(
        Fake(name, why, writer(kinematics, scene)) for name, (scene, why) in scenes().items()
    )


def genuine(kinematics: Kinematics) -> Fake:
    """A seated card in both hands, written by the same route: it is a success."""
    scene = held((0.0, 0.0, -DEPTH), borne=0.0)
    return Fake("home", "nothing is wrong with it", writer(kinematics, scene))


def writer(
    kinematics: Kinematics, scene: Scene
) -> Callable[[Twin, CartesianControl, int, np.random.Generator], None]:
    """What writes a scene into a station."""

    def write(twin: Twin, control: CartesianControl, row: int, rng: np.random.Generator) -> None:
        model, slot = twin.model, twin.model.site("task_slot").id
        mouth, axes = twin.site_xpos[row, slot].copy(), twin.site_xmat[row, slot].reshape(3, 3)
        card = model.joint("task_card").qposadr[0]
        twin.qvel[row] = 0.0
        twin.qpos[row, card : card + 3] = mouth + axes @ scene.at
        turned = (axes @ _matrix(scene.turn)).ravel()
        mujoco.mju_mat2Quat(twin.qpos[row, card + 3 : card + 7], turned)
        _spread(twin, row, scene)
        at = [mouth + axes @ hand.at for hand in scene.hands]
        mass = float(twin.variation(row)["body_mass"][model.body("task_card").id])
        over = np.array([0.0, 0.0, scene.borne * BEARS * mass])
        pressed = [mouth + axes @ (hand.at + hand.press) + over for hand in scene.hands]
        frames = [axes @ hand.frame for hand in scene.hands]
        joints = kinematics.solve(at, frames, warm=control.measured(np.array([row]))[0])
        for arm, angles, hand in zip(control.arms, joints, scene.hands, strict=True):
            twin.qpos[row, arm.qpos] = angles
            for finger in ("finger_left", "finger_right"):
                qpos = model.joint(f"{arm.name}_{finger}").qposadr[0]
                twin.qpos[row, qpos] = hand.opening / 2
        twin.expand("actuator_delay")[row] = 0.0  # or the servos still get the start's setpoints
        control.set(row, kinematics.solve(pressed, frames, warm=joints), np.zeros(2))

    return write


def _spread(twin: Twin, row: int, scene: Scene) -> None:
    """Put each contact spring on the edge's face, where the edge is that deep."""
    in_line = math.hypot(*scene.at[:2]) < 1e-3
    for side, along in JAWS.items():
        rim = scene.at[2] + along * math.sin(scene.turn[0])
        for face in ("front", "back"):
            qpos = twin.model.joint(f"task_jaw_{face}_{side}").qposadr[0]
            twin.qpos[row, qpos] = SPREAD if in_line and rim < -SPRINGS - 0.0005 else 0.0


def _matrix(turn: Vector) -> FloatArray:
    matrix: FloatArray = Rotation.from_rotvec(turn).as_matrix()
    return matrix
