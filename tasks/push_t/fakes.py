"""Blocks on the outline that are none: in projection only, nearly, or with a hand on them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import mujoco
import numpy as np
from scipy.spatial.transform import Rotation

from enpire.environment import CartesianControl, Fake
from enpire.environment.kinematics import Kinematics
from enpire.twin import Twin
from enpire.types import FloatArray

from .geometry import GOAL, HEIGHT, SHUT, START

AWAY = (0.20, 0.16, 0.075)  # of a hand that has nothing to do with it [m]
ON_BENCH = HEIGHT / 2
SLANT = 0.31  # of the jaw's back from the way the fingers point, and of a hand that levels it [rad]
RESTS = 0.0005  # over what it rests on a block is written [m]
FIRM = 0.003  # below a block's face a hand that presses it wants to be [m]


@dataclass(frozen=True, slots=True)
class Lies:
    """A block, and a hand that is away unless it says so.

    Attributes:
        shift: The block from its goal, along the bench's axes or, if `along`, the T's own [m].
        turn: From its goal's yaw [rad].
        along: See `shift`.
        high: Its middle over the bench [m].
        tilt: About its bar [rad].
        hand: The grasp point [m].
        level: The hand's fingers point away from the base, its jaw uppermost.
        presses: The hand wants to be lower than it can.
    """

    shift: tuple[float, float] = (0.0, 0.0)
    turn: float = 0.0
    along: bool = True
    high: float = ON_BENCH
    tilt: float = 0.0
    hand: tuple[float, float, float] = AWAY
    level: bool = False
    presses: bool = False


COVERS = Lies()  # the one that is a success
STATES: tuple[tuple[str, str, Lies], ...] = (
    (
        "carried over the outline",
        "the block lies on the back of a raised hand, right above its outline",
        Lies(high=0.150, hand=(0.236, 0.0, 0.120), level=True),
    ),
    (
        "under the fingers, too far along its bar",
        "the fingers press the block to the bench where it covers 0.87 of the outline",
        Lies((0.0056, 0.0), hand=(0.200, 0.0, 0.030), presses=True),
    ),
    (
        "too far along its bar",
        "the block is 5.6 mm from its outline and covers 0.87 of it",
        Lies((0.0056, 0.0)),
    ),
    (
        "too far along its stem",
        "the block is 5.6 mm from its outline and covers 0.87 of it",
        Lies((0.0, -0.0056)),
    ),
    (
        "turned by seven degrees",
        "the block is in its place and turned, and covers 0.87 of the outline",
        Lies(turn=0.12),
    ),
    (
        "turned by half a turn",
        "the block's bar lies where its stem belongs",
        Lies(turn=np.pi),
    ),
    (
        "half a turn, its stem on the outline's",
        "the block covers the stem and another bar",
        Lies((0.0, -0.057), turn=np.pi),
    ),
    (
        "beside the outline",
        "the block has the outline's yaw and is 30 mm beside it",
        Lies((0.030, 0.0), along=False),
    ),
    (
        "on its bar's edge",
        "the block stands on its bar above the outline's",
        Lies((0.0, 0.02), high=0.0339, tilt=-np.pi / 2),
    ),
    (
        "on its stem's end",
        "the block stands on the end of its stem, above the outline",
        Lies((0.0, 0.0), high=0.0661, tilt=np.pi / 2),
    ),
)


def fakes() -> tuple[Fake, ...]:
    """Return the states."""
    return tuple(Fake(name, why, partial(write, state)) for name, why, state in STATES)


def write(
    state: Lies, twin: Twin, control: CartesianControl, row: int, rng: np.random.Generator
) -> None:
    """Write a state into a station."""
    model, arm = twin.model, control.arms[0]
    way = Rotation.from_euler("z", GOAL[2] if state.along else 0.0)
    shift = way.apply([*state.shift, 0.0])
    turn = Rotation.from_euler("z", GOAL[2] + state.turn) * Rotation.from_euler("x", state.tilt)
    at = model.joint("task_block").qposadr[0]
    twin.qpos[row, at : at + 3] = np.array([*GOAL[:2], state.high + RESTS]) + shift
    twin.qpos[row, at + 3 : at + 7] = turn.as_quat(scalar_first=True)
    twin.qvel[row] = 0.0
    solver = Kinematics(twin.scene.world, twin.scene.robot)
    place = np.array(state.hand)
    joints = _joints(solver, place, state.level)
    twin.qpos[row, arm.qpos] = joints
    data = mujoco.MjData(model)
    data.qpos[:] = twin.qpos[row]
    mujoco.mj_forward(model, data)
    gains = twin.expand("actuator_gainprm")[row, arm.actuators, 0]
    wanted = _joints(solver, place - (0, 0, FIRM), state.level) if state.presses else joints
    control.set(row, (wanted + data.qfrc_bias[arm.dofs] / gains)[None], np.array([SHUT]))


def _joints(solver: Kinematics, place: FloatArray, level: bool) -> FloatArray:
    """Return the joints (5,) of a hand that points down there, or ahead [rad]."""
    if level:
        ahead, up = np.cos(SLANT), np.sin(SLANT)
        frame = np.column_stack([(-up, 0.0, ahead), (0.0, -1.0, 0.0), (ahead, 0.0, up)])
    else:
        frame = np.column_stack([(0.0, 1.0, 0.0), (1.0, 0.0, 0.0), (0.0, 0.0, -1.0)])
    return solver.solve([place], [frame], np.array([START]))[0]
