"""The same task from its beginning: the card stands in a cradle, and both hands fetch it first.

What is seen and the verifier are those of `GpuInsertion`; where an episode begins, how far hands
may go, that they open and shut, and how long it may take are its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import mujoco
import numpy as np
from scipy.spatial.transform import Rotation

from enpire.environment import (
    ActionSpec,
    ArmAction,
    CartesianControl,
    Demonstrator,
    time_left,
)
from enpire.errors import ResetFailed
from enpire.twin import Twin
from enpire.types import FloatArray

from .fetching import HOLDS, Fetcher
from .frames import hands_on
from .skill import FetchingSeater
from .task import STEP, TURN, GpuInsertion

CRADLE_AT = np.array([0.265, 0.020, 0.055])  # the card's origin in it, nominal [m]
PLAY = 0.0006  # of the card between the cradle's walls, on each side [m]
FOOT = 0.008  # of the card's cooler over its origin: it stands on that [m]
BLOCKS = (0.068, -0.112)  # of the cradle, along the card, beside its connector [m]
TALL = 0.022  # of the walls, over the foot [m]
OVER = 0.030  # of the hands, open, over where they hold the card [m]
OPEN = 0.040  # gripper setpoint at the start [m]
STANDS = 0.97  # upward part of the axis of a card that stands in the cradle
DONE_AT = 0.30  # time in the reset [s]
LEFT_HAND = ArmAction(STEP, TURN, low=(0.22, 0.045, 0.095), high=(0.43, 0.125, 0.215))
RIGHT_HAND = ArmAction(STEP, TURN, low=(0.22, -0.125, 0.095), high=(0.43, -0.045, 0.215))


class FromCradle(GpuInsertion):
    """The card in its cradle behind the motherboard, both hands open above it."""

    time_limit = 24.0
    actions = ActionSpec((LEFT_HAND, RIGHT_HAND), lead=0.06, push=30.0)
    fixed_action_dims: ClassVar[dict[int, float]] = {}
    variation_names = (
        *(f"slot_{a}" for a in ("x", "y", "z", "rx", "ry", "rz")),
        *(f"cradle_{a}" for a in ("x", "y", "yaw")),
        *(f"{s}_hand_{a}" for s in ("left", "right") for a in "xyz"),
        *("friction", "springs", "mass", "latency"),
    )
    target_names = ()

    def build(self, spec: mujoco.MjSpec) -> None:
        """The cradle besides: two blocks with a groove for the card's lower side."""
        super().build(spec)
        cradle = spec.worldbody.add_body(name="task_cradle", pos=CRADLE_AT)
        wall = 0.006
        for y in BLOCKS:
            half, foot = (wall / 2, 0.010, TALL / 2), FOOT - 0.003
            _box(cradle, (0.006 + PLAY + wall, 0.010, 0.003), (0.0, y, foot))
            for side in (-1, 1):
                x = side * (0.006 + PLAY + wall / 2)
                _box(cradle, half, (x, y, FOOT + TALL / 2))
            below = CRADLE_AT[2] + foot - 0.003
            _box(cradle, (0.008, 0.006, below / 2), (0.0, y, foot - 0.003 - below / 2))

    def after_compile(self, twin: Twin) -> None:
        """Expand the cradle's place too."""
        super().after_compile(twin)
        self._cradle = twin.scene.model.body("task_cradle").id
        self._top = twin.scene.model.site("task_card_left_high").id

    def sample(self, rng: np.random.Generator) -> FloatArray:
        """Slot [m, rad], cradle [m, rad], hands off their places above it [m], the rest."""
        return np.concatenate(
            [
                rng.uniform((-0.010, -0.010, -0.003), (0.010, 0.010, 0.003)),
                rng.uniform((-0.010, -0.010, -0.08), (0.010, 0.010, 0.08)),
                rng.uniform((-0.008, -0.010, -0.06), (0.008, 0.010, 0.06)),
                rng.uniform((-0.010,) * 3, (0.010,) * 3, (2, 3)).ravel(),
                rng.uniform((0.7, 0.6, 0.7), (1.3, 1.1, 1.5)),
                rng.uniform(0.0, 0.03, 1),
            ]
        )

    def randomize_physics(self, twin: Twin, row: int, variation: FloatArray) -> None:
        """Friction, springs, the card's mass; latency and the slot's place."""
        self._vary_rest(twin, row, dict(zip(self.variation_names, variation, strict=True)))
        self._drawn[row, :6] = variation[:6]

    def set_initial_state(
        self, twin: Twin, control: CartesianControl, row: int, variation: FloatArray
    ) -> None:
        """The card in the cradle, the hands above it and open."""
        model = twin.model
        x, y, yaw = variation[6:9]
        frame = Rotation.from_rotvec((0.0, 0.0, yaw)).as_matrix()
        position = CRADLE_AT + np.array([x, y, 0.0])
        self._slot_position[row, self._cradle] = position
        mujoco.mju_mat2Quat(self._slot_quaternion[row, self._cradle], frame.ravel())
        self._place_slot(twin, row)
        at = model.joint("task_card").qposadr[0]
        twin.qpos[row, at : at + 3] = position
        mujoco.mju_mat2Quat(twin.qpos[row, at + 3 : at + 7], frame.ravel())
        hands, frames = hands_on(position, frame, HOLDS)
        hands = hands + variation[9:15].reshape(2, 3) + np.array([0.0, 0.0, OVER])
        joints = self._kinematics.solve(list(hands), list(frames), warm=self._nominal_joints)
        for arm, angles in zip(control.arms, joints, strict=True):
            twin.qpos[row, arm.qpos] = angles
            for finger in ("finger_left", "finger_right"):
                twin.qpos[row, model.joint(f"{arm.name}_{finger}").qposadr[0]] = OPEN / 2
        self._delay[row] = 0.0
        control.set(row, joints, np.full(2, OPEN))

    def settle(self, twin: Twin, control: CartesianControl, row: int, elapsed: float) -> float:
        """Wait until it is still."""
        if left := time_left(elapsed, DONE_AT):
            return left
        if twin.site_xmat[row, self._top].reshape(3, 3)[2, 2] < STANDS:
            raise ResetFailed("the card does not stand in its cradle")
        self._delay[row] = self._latency[row]
        return 0.0

    def demonstrator(self, rng: np.random.Generator) -> Demonstrator:
        """The same person, who fetches the card first."""
        return Fetcher(rng, self.actions)

    def skill(self, values: Mapping[str, float]) -> Demonstrator:
        """The skill script, which fetches the card first."""
        return FetchingSeater(self.actions, values)


def _box(body: mujoco.MjsBody, size: tuple[float, ...], pos: tuple[float, ...]) -> None:
    """A part of the cradle, smooth and stiff, for the card and for fingers."""
    body.add_geom(
        type=mujoco.mjtGeom.mjGEOM_BOX,
        size=size,
        pos=pos,
        contype=0,
        conaffinity=5,
        condim=3,
        friction=(0.2, 0.002, 0.0001),
        solref=(0.004, 1),
        solimp=(0.95, 0.99, 0.0005, 0.5, 2),
        rgba=(0.62, 0.64, 0.66, 1),
    )
