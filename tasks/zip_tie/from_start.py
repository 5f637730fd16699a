"""The same task from its beginning: the tie hangs before the bundle, and both hands take it first.

What is seen and the verifier are those of `ZipTie`; where an episode begins, how far hands may go,
that they open and shut, and how long it may take are its own.
"""

from __future__ import annotations

from collections.abc import Mapping

import mujoco
import numpy as np
from scipy.spatial.transform import Rotation

from enpire.environment import ActionSpec, ArmAction, CartesianControl, Demonstrator, time_left
from enpire.errors import ResetFailed
from enpire.twin import Twin
from enpire.types import FloatArray

from .demonstrator import Manner
from .fixture import PRESENTED
from .frames import HEAD, hand_rotation
from .hanging import Hanging
from .restorer import BACK, HANGS
from .taking import Taker
from .task import LEAD, PUSH, STEP, TURN, ZipTie

BEFORE = np.array([-0.006, 0.0, 0.0])  # of where a reset has the tie presented, nominal [m]
OPEN = 0.045  # gripper setpoint at the start [m]
CALM_AT = 0.8  # time in the reset [s]
LEFT_HAND = ArmAction(STEP, TURN, low=(0.28, -0.04, 0.16), high=(0.46, 0.07, 0.25))
RIGHT_HAND = ArmAction(STEP, TURN, low=(0.28, -0.16, 0.155), high=(0.465, 0.02, 0.25))


class FromLines(ZipTie):
    """The tie on three lines before the bundle's free end, both hands open before it."""

    time_limit = 20.0
    actions = ActionSpec((LEFT_HAND, RIGHT_HAND), LEAD, PUSH)
    variation_names = (
        *(f"head_{a}" for a in ("x", "y", "z", "yaw")),
        *(f"tail_{a}" for a in "xyz"),
        *(f"{s}_hand_{a}" for s in ("left", "right") for a in ("x", "y", "z", "rx", "ry", "rz")),
        *("friction", "stiffness", "latency"),
    )
    target_names = ()

    def after_compile(self, twin: Twin) -> None:
        """Lines that come off."""
        super().after_compile(twin)
        self._hanging = Hanging(twin)

    def sample(self, rng: np.random.Generator) -> FloatArray:
        """Head [m, rad], tail off its place [m], hands off theirs [m, rad], the rest."""
        return np.concatenate(
            [
                rng.uniform(-1, 1, 7) * (0.008, 0.010, 0.008, 0.10, 0.005, 0.004, 0.005),
                (rng.uniform(-1, 1, (2, 6)) * ((0.010,) * 3 + (0.08,) * 3)).ravel(),
                rng.uniform((0.7, 0.7, 0.0), (1.4, 1.4, 0.03)),
            ]
        )

    def set_initial_state(
        self, twin: Twin, control: CartesianControl, row: int, variation: FloatArray
    ) -> None:
        """The tie on its lines, the hands before it and open."""
        model = twin.model
        at = PRESENTED + BEFORE + variation[:3]
        turn = Rotation.from_rotvec((0.0, 0.0, variation[3])).as_matrix()
        frame = turn @ HEAD
        ends = np.array([at[0], at[0] + turn @ (at[1] - at[0] + variation[4:7])])
        self._hanging.present_at(row, ends, frame)
        self._hanging.hang(row)
        twin.qpos[row, model.jnt_qposadr[self._bends]] = self._rest
        head = model.joint("task_head").qposadr[0]
        twin.qpos[row, head : head + 3] = ends[0]
        mujoco.mju_mat2Quat(twin.qpos[row, head + 3 : head + 7], frame.ravel())
        hands, rotations = [], []
        for arm, (end, off) in enumerate(zip(ends, variation[7:19].reshape(2, 6), strict=True)):
            wanted = turn @ hand_rotation(arm)
            hands.append(end - BACK * wanted[:, 2] + off[:3])
            rotations.append(Rotation.from_rotvec(off[3:]).as_matrix() @ wanted)
        joints = self._kinematics.solve(hands, rotations, warm=self._fetching)
        for arm, angles in zip(control.arms, joints, strict=True):
            twin.qpos[row, arm.qpos] = angles
            for finger in ("finger_left", "finger_right"):
                twin.qpos[row, model.joint(f"{arm.name}_{finger}").qposadr[0]] = OPEN / 2
        control.set(row, joints, np.full(2, OPEN))

    def settle(self, twin: Twin, control: CartesianControl, row: int, elapsed: float) -> float:
        """Wait until the tie hangs still."""
        if left := time_left(elapsed, CALM_AT):
            self._hanging.hang(row)  # what it pulls before it hangs still counts for nothing
            return left
        upright = twin.site_xmat[row, self._sites[:2]].reshape(2, 3, 3)[:, 2, 2]
        if (upright < HANGS).any():
            raise ResetFailed("the tie does not hang from its lines")
        self._delay[row] = self._latency[row]
        return 0.0

    def after_step(self, twin: Twin, row: int) -> None:
        """A line that is pulled too hard comes off."""
        self._hanging.give(row)

    def demonstrator(self, rng: np.random.Generator) -> Demonstrator:
        """The same person, who takes the tie first."""
        return Taker(rng, self.actions)

    def skill(self, values: Mapping[str, float]) -> Demonstrator:
        """The skill script with these numbers, which takes the tie first."""
        rng = np.random.default_rng(0)
        return Taker(rng, self.actions, Manner(**values), late=1, tremor=0.0, beside=0.0)
