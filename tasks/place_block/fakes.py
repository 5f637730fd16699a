"""Blocks that look placed, or are on their way, and do not lie on the pad by themselves.

A state is written as it would rest: the hand at its pose, its setpoints where its joints are.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy.spatial.transform import Rotation

from enpire.environment import CartesianControl, Fake, Readings
from enpire.environment.kinematics import Kinematics
from enpire.twin import Twin
from enpire.types import Float32Array, FloatArray

from .geometry import BLOCK, PAD, down

WIDE, SHUT = 0.075, 0.0  # the gripper [m]
ON = BLOCK / 2  # height of a block that lies [m]
RIM = PAD - BLOCK / 2  # off the middle, at which a face of the block is over the rim [m]


@dataclass(frozen=True, slots=True)
class State:
    """A block as seen from the pad, and a hand as seen from the block.

    Attributes:
        block: Its middle from the pad's [m].
        turned: The block about its own x, y, z [rad].
        speed: Of the block along x, y, z [m/s].
        hand: The grasp point from the block's middle [m].
        yaw: Of the hand [rad].
        opening: Of the gripper, and of its setpoint [m].
    """

    block: tuple[float, float, float]
    turned: tuple[float, float, float] = (0.0, 0.0, 0.0)
    speed: tuple[float, float, float] = (0.0, 0.0, 0.0)
    hand: tuple[float, float, float] = (0.0, 0.0, 0.090)
    yaw: float = 0.0
    opening: tuple[float, float] = (WIDE, WIDE)


AT_BLOCK = (0.0, 0.0, 0.005)  # the grasp point of a hand that grips [m]
GRIPPED, CORNERED = (0.0395, SHUT), (0.0558, SHUT)  # fingers on faces, and on edges
PLACED = State((0.0, 0.0, ON))  # the one that is a success
STATES: tuple[tuple[str, str, State], ...] = (
    (
        "in the fingers on the pad",
        "the block stands on the pad, and the fingers are shut on it",
        State((0.0, 0.0, ON), hand=AT_BLOCK, opening=GRIPPED),
    ),
    (
        "by its edges in the fingers",
        "the fingers hold it by two edges, 56 mm apart, on the pad",
        State((0.0, 0.0, ON), hand=AT_BLOCK, yaw=np.pi / 4, opening=CORNERED),
    ),
    (
        "fingers about it",
        "it stands on the pad, 5 mm from either finger, and has not been let go of",
        State((0.0, 0.0, ON), hand=AT_BLOCK, opening=(0.050, 0.050)),
    ),
    (
        "held over the pad",
        "the fingers hold it 30 mm over the pad",
        State((0.0, 0.0, ON + 0.030), hand=AT_BLOCK, opening=GRIPPED),
    ),
    (
        "beside the pad",
        "it lies on the bench, and touches the rim from outside",
        State((PAD + BLOCK / 2 + 0.002, 0.0, ON)),
    ),
    (
        "half on the pad",
        "its middle is over the rim",
        State((0.0, PAD, ON)),
    ),
    (
        "a face over the rim",
        "two of its corners are over the rim, by 5 mm",
        State((RIM, 0.0, ON)),
    ),
    (
        "a corner over the rim",
        "one corner is over the rim, by 3 mm",
        State((PAD - BLOCK / np.sqrt(2) + 0.003, 0.0, ON), turned=(0.0, 0.0, np.pi / 4)),
    ),
    (
        "leaning on a finger at the rim",
        "it stands on an edge at the rim, and a finger props it from the pad's side",
        State(
            (PAD + 0.006, 0.0, ON + 0.0035),
            turned=(0.0, 0.20, 0.0),
            hand=(-0.048, 0.0, 0.004),
            yaw=np.pi / 2,
            opening=(SHUT, SHUT),
        ),
    ),
    (
        "sliding across the pad",
        "it slides over the pad and on",
        State((0.0, 0.0, ON), speed=(1.2, 0.0, 0.0)),
    ),
    (
        "thrown over the pad",
        "it flies over the pad, and comes down beside it",
        State((-0.02, 0.0, 0.045), speed=(0.0, 1.2, 0.5)),
    ),
    (
        "standing on a corner",
        "it is over the pad's rim on one corner, and falls over",
        State((PAD, 0.0, 0.0345), turned=(np.pi / 4, 0.6155, 0.0)),
    ),
)
MOVING = ("sliding across the pad", "thrown over the pad", "standing on a corner")


def fakes(kinematics: Kinematics) -> tuple[Fake, ...]:
    """Return the states; those in which the block moves are shown at once."""
    return tuple(
        Fake(
            name,
            why,
            partial(write, kinematics, state),
            partial(stay, state),
            1 if name in MOVING else 12,
        )
        for name, why, state in STATES
    )


def stay(state: State, readings: Readings) -> Float32Array:
    """Return the action that moves nothing, and leaves the gripper where it was set."""
    action = np.zeros(7, np.float32)
    action[6] = 2.0 * state.opening[1] / 0.085 - 1.0
    return action


def write(
    kinematics: Kinematics,
    state: State,
    twin: Twin,
    control: CartesianControl,
    row: int,
    rng: np.random.Generator,
) -> None:
    """Write a state into a station, turned about the pad by up to 0.3 rad."""
    model = twin.model
    pad = twin.expand("body_pos")[row, model.body("task_pad").id]
    angle = rng.uniform(-0.3, 0.3)
    turn = Rotation.from_rotvec((0.0, 0.0, angle))
    block = pad + turn.apply(state.block)
    hand: FloatArray = block + turn.apply(state.hand)
    joints = kinematics.solve([hand], [down(state.yaw + angle)])
    twin.expand("actuator_delay")[row] = 0.0  # or the arm would go on to where it was sent before
    twin.qvel[row] = 0.0
    twin.qpos[row, control.arms[0].qpos] = joints[0]
    for finger in ("finger_left", "finger_right"):
        twin.qpos[row, model.joint(f"arm_{finger}").qposadr[0]] = state.opening[0] / 2
    at, dof = model.joint("task_block").qposadr[0], model.joint("task_block").dofadr[0]
    twin.qpos[row, at : at + 3] = block
    stood = turn * Rotation.from_euler("xyz", state.turned)
    twin.qpos[row, at + 3 : at + 7] = stood.as_quat(scalar_first=True)
    twin.qvel[row, dof : dof + 3] = turn.apply(state.speed)
    control.set(row, joints, np.array([state.opening[1]]))
