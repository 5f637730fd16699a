"""Cubes that are high, or in the hand's reach, and that no fingers hold up.

A state is written as it would rest: joints where the hand has its pose, setpoints beyond them by
what the arm's weight takes from its servos.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import mujoco
import numpy as np
from scipy.optimize import least_squares
from scipy.spatial.transform import Rotation

from enpire.environment import CartesianControl, Fake, Readings
from enpire.twin import Twin
from enpire.types import Float32Array, FloatArray

from .geometry import CUBE, START

SHUT, GRIPPING, AJAR, WIDE = -0.1745, 0.122, 0.07, 0.9  # the jaw [rad]
REACHED = 0.02  # of a hand from its pose: near enough, at the end of its reach [m]
GAP = 0.0002  # between things that are to touch [m]
# From where joints are sought: fingers that point down, ahead and up.
STARTS = (START, (0.0, 0.0, 0.5, -0.5, 0.0), (0.0, 1.5, -1.45, -1.6, 1.57))
DOWN = -np.pi / 2  # elevation of a hand's fingers [rad]
LEVEL, UP = 0.0, np.pi / 2
SLANT = 0.31  # of the jaw's back from the way the fingers point, and of a hand that levels it [rad]


@dataclass(frozen=True, slots=True)
class Hold:
    """A hand, and a cube in its frame or on the bench.

    Attributes:
        hand: Where the grasp point is [m].
        elevation: How far the fingers point up [rad].
        roll: How far the hand is turned about the way they point [rad].
        jaw: The jaw's angle, and its setpoint's [rad].
        cube: The cube's middle in the hand's frame (opening, across, approach) [m].
        on_bench: The cube's middle, world frame, instead [m].
        turned: The cube about its own x, y, z [rad].
        speed: Of the cube, upwards [m/s].
    """

    hand: tuple[float, float, float]
    elevation: float = DOWN
    roll: float = 0.0
    jaw: float = SHUT
    jaw_to: float = SHUT
    cube: tuple[float, float, float] = (0.0, 0.0, 0.0)
    on_bench: tuple[float, float, float] | None = None
    turned: tuple[float, float, float] = (0.0, 0.0, 0.0)
    speed: float = 0.0


HELD = Hold((0.21, 0.0, 0.09), jaw=GRIPPING)  # the one that is a success
LEVEL_HAND = (0.31, 0.0, 0.12)
ACROSS = 0.012 + CUBE / 2 + GAP  # a cube that lies on the fingers' sides, in the hand's frame [m]
STATES: tuple[tuple[str, str, Hold], ...] = (
    (
        "gripped, not lifted far enough",
        "the fingers hold the cube 52 mm above where it lay",
        Hold((0.21, 0.0, 0.0645), jaw=GRIPPING),
    ),
    (
        "gripped on the bench",
        "the fingers hold the cube, which still lies on the bench",
        Hold((0.21, 0.0, 0.0165), jaw=GRIPPING, on_bench=(0.21, 0.0, CUBE / 2)),
    ),
    (
        "beneath an empty hand",
        "the shut hand is where it would be with the cube, which lies below it",
        Hold((0.21, 0.0, 0.09), on_bench=(0.21, 0.0, CUBE / 2)),
    ),
    (
        "under the shut fingers",
        "the fingers press the cube to the bench from above",
        Hold((0.21, 0.0, 0.036), on_bench=(0.21, 0.0, CUBE / 2)),
    ),
    (
        "across shut fingers",
        "the cube lies on the sides of two level fingers that are shut on nothing",
        Hold(LEVEL_HAND, LEVEL, jaw=-0.12, cube=(-0.009, ACROSS, -0.006)),
    ),
    (
        "across fingers as wide as a cube",
        "the cube lies on the sides of two level fingers, nearly as far apart as if they held it",
        Hold(LEVEL_HAND, LEVEL, jaw=AJAR, jaw_to=AJAR, cube=(-0.002, ACROSS, 0.0)),
    ),
    (
        "on the jaw's back",
        "the cube lies on the back of a jaw that is shut on nothing",
        Hold(
            (0.30, 0.0, 0.16),
            SLANT,
            np.pi / 2,
            cube=(0.0196, 0.0, -0.0062),
            turned=(0.0, -SLANT, 0.0),
        ),
    ),
    (
        "on the fingers' tips",
        "the cube stands on the tips of shut fingers that point up",
        Hold((0.32, 0.0, 0.26), UP, cube=(-0.010, 0.0, 0.011 + CUBE / 2)),
    ),
    (
        "thrown",
        "the cube flies up past a hand that is shut on nothing",
        Hold((0.21, 0.0, 0.09), on_bench=(0.21, 0.03, 0.08), speed=2.2),
    ),
    (
        "dropped",
        "the cube falls through an open hand at the height at which it would be held",
        Hold((0.21, 0.0, 0.12), jaw=WIDE, jaw_to=WIDE),
    ),
)
FLYING = ("thrown", "dropped")


def fakes() -> tuple[Fake, ...]:
    """Return the states; those in which the cube flies are shown at once."""
    return tuple(
        Fake(name, why, partial(write, state), partial(stay, state), 1 if name in FLYING else 12)
        for name, why, state in STATES
    )


def stay(state: Hold, readings: Readings) -> Float32Array:
    """Return the action that moves nothing, and leaves the jaw where it was set."""
    action = np.zeros(7, np.float32)
    action[6] = 2.0 * (state.jaw_to - SHUT) / (1.74533 - SHUT) - 1.0
    return action


def write(
    state: Hold, twin: Twin, control: CartesianControl, row: int, rng: np.random.Generator
) -> None:
    """Write a state into a station, the hand and the cube some millimetres to any side."""
    model, arm = twin.model, control.arms[0]
    shift = np.array([*rng.uniform(-0.01, 0.01, 2), 0.0])
    hand = np.array(state.hand) + shift
    frame = rotation(state.elevation, state.roll)
    data = mujoco.MjData(model)
    data.qpos[:] = twin.qpos[row]
    joints = solve(model, data, arm.qpos, arm.grasp, hand, frame)
    gripper = model.joint("arm_gripper").qposadr[0]
    twin.qvel[row] = 0.0
    twin.qpos[row, arm.qpos] = joints
    twin.qpos[row, gripper] = state.jaw
    at, dof = model.joint("task_cube").qposadr[0], model.joint("task_cube").dofadr[0]
    turn = Rotation.from_euler("xyz", state.turned)
    if state.on_bench is None:
        there = data.site_xmat[arm.grasp].reshape(3, 3)
        middle = data.site_xpos[arm.grasp] + there @ state.cube
        turn = Rotation.from_matrix(there) * turn
    else:
        middle = np.array(state.on_bench) + shift
    twin.qpos[row, at : at + 3] = middle
    twin.qpos[row, at + 3 : at + 7] = turn.as_quat(scalar_first=True)
    twin.qvel[row, dof + 2] = state.speed
    data.qpos[:] = twin.qpos[row]
    data.qvel[:] = 0.0
    mujoco.mj_forward(model, data)
    gains = twin.expand("actuator_gainprm")[row, arm.actuators, 0]
    control.set(row, (joints + data.qfrc_bias[arm.dofs] / gains)[None], np.array([state.jaw_to]))


def rotation(elevation: float, roll: float) -> FloatArray:
    """Return a hand's frame (3, 3) that points away from the base: opening, across, approach."""
    approach = np.array([np.cos(elevation), 0.0, np.sin(elevation)])
    side = np.array([0.0, 1.0, 0.0])
    level = np.column_stack([side, np.cross(approach, side), approach])
    result: FloatArray = level @ Rotation.from_euler("z", roll).as_matrix()
    return result


def solve(
    model: mujoco.MjModel,
    data: mujoco.MjData,
    qpos: FloatArray,
    grasp: int,
    hand: FloatArray,
    frame: FloatArray,
) -> FloatArray:
    """Return the joints (5,) [rad] with which the hand is at `hand` and turned as `frame`.

    A hand beside the arm's plane is turned with it. `data` is left as it is then.

    Raises:
        ValueError: no joints are.
    """
    low, high = model.jnt_range[[model.joint(f"arm_joint{i}").id for i in range(1, 6)]].T
    pan = np.arctan2(hand[1], hand[0] - 0.0388)
    wanted = Rotation.from_euler("z", pan).as_matrix() @ frame

    def missed(joints: FloatArray) -> FloatArray:
        data.qpos[qpos] = joints
        mujoco.mj_kinematics(model, data)
        turned = data.site_xmat[grasp].reshape(3, 3) - wanted
        result: FloatArray = np.append(data.site_xpos[grasp] - hand, 0.1 * turned.ravel())
        return result

    best: FloatArray | None = None
    for start in STARTS:
        found = least_squares(missed, np.clip((pan, *start[1:]), low + 1e-6, high - 1e-6), bounds=(low, high))
        if best is None or np.linalg.norm(found.fun) < np.linalg.norm(missed(best)):
            best = found.x
    off = missed(best)
    if np.linalg.norm(off) > REACHED:
        raise ValueError(f"no joints bring the hand to {hand}: it is {off[:3]} m off")
    return best
