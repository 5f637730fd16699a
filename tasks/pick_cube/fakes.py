"""Cubes that are high, or in the hand's reach, and that no fingers hold up.

A state is written as it would rest: joints where the hand has its pose, setpoints beyond them by
what the arm's weight takes from its servos.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import mujoco
import numpy as np
from scipy.spatial.transform import Rotation

from enpire.environment import CartesianControl, Fake, Readings
from enpire.environment.kinematics import Kinematics
from enpire.twin import Twin
from enpire.types import Float32Array, FloatArray

from .geometry import CUBE, START

SHUT, GRIPPING, AJAR, WIDE = -0.1745, 0.122, 0.02, 0.9  # the jaw [rad]
GAP = 0.0002  # between things that are to touch [m]
DOWN = -np.pi / 2  # elevation of a hand's fingers [rad]
LEVEL, UP = 0.0, np.pi / 2
FOLDED = (0.0, 1.5, -1.45, -1.6, np.pi / 2)  # joints of fingers that point up [rad]
ITERATIONS = 200
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
        "across fingers that are apart",
        "the cube lies on the sides of two level fingers that have nothing between them",
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
        Hold((0.322, 0.0, 0.2487), UP, cube=(-0.010, 0.0, 0.0235)),
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
    """Write a state into a station, the hand and the cube some millimetres to either side."""
    model, arm = twin.model, control.arms[0]
    shift = np.array([0.0, rng.uniform(-0.01, 0.01), 0.0])
    solver = Kinematics(twin.scene.world, twin.scene.robot, ITERATIONS)
    frame = rotation(state.elevation, state.roll)
    warm = np.array([START if state.elevation < UP else FOLDED])
    joints = solver.solve([np.array(state.hand) + shift], [frame], warm)[0]
    data = mujoco.MjData(model)
    data.qpos[:] = twin.qpos[row]
    data.qpos[arm.qpos] = joints
    mujoco.mj_kinematics(model, data)
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
