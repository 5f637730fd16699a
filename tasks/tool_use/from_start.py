"""The same task from its beginning: the cutter stands in its stand, and the hand takes it first.

What is seen, verifier and demonstrator are those of `ToolUse`; where an episode begins, how far the
hand may go and how long it may take are its own.
"""

from __future__ import annotations

import numpy as np
from scipy.spatial.transform import Rotation

from enpire.environment import ActionSpec, ArmAction, CartesianControl, time_left
from enpire.errors import ResetFailed
from enpire.twin import Twin
from enpire.types import FloatArray

from .layout import GRIP, HAND, STANDING
from .task import LEFT_AT, STAND_AT, STILL, WIDE, ToolUse
from .verify import TILT

RIGHT_HAND = ArmAction((0.004,) * 3, (0.03,) * 3, low=(0.30, -0.24, 0.13), high=(0.48, 0.0, 0.27))
BEFORE = np.array([-0.080, 0.0, GRIP])  # of the hand from the pivot, before the handles [m]
FREE = 0.41  # opening of the cutter's jaws when nobody holds it [rad]
DONE_AT = 0.30  # time in the reset [s]


class FromStand(ToolUse):
    """The cutter in its stand, the right hand before it and open."""

    time_limit = 20.0
    actions = ActionSpec((STILL, RIGHT_HAND), lead=0.06, push=8.0)
    variation_names = (
        *("strap_x", "strap_y", "strap_z", "strap_yaw", "stand_x", "stand_y"),
        *(f"hand_{a}" for a in ("x", "y", "z", "rx", "ry", "rz")),
        *(f"left_{a}" for a in "xyz"),
        *("friction", "strength", "latency"),
    )
    target_names = ()

    def sample(self, rng: np.random.Generator) -> FloatArray:
        """Tie, stand, hand [m, rad], left hand [m], friction, strength (scales), latency [s]."""
        return np.concatenate(
            [
                rng.uniform(-1, 1, 6) * (0.012, 0.012, 0.006, 0.15, 0.012, 0.012),
                rng.uniform(-1, 1, 6) * (0.020, 0.020, 0.020, 0.06, 0.06, 0.15),
                rng.uniform(-1, 1, 3) * 0.03,
                rng.uniform((0.7, 0.7, 0.0), (1.3, 1.3, 0.03)),
            ]
        )

    def set_initial_state(
        self, twin: Twin, control: CartesianControl, row: int, variation: FloatArray
    ) -> None:
        """Tie and stand, the cutter in it, the hand before its handles."""
        self._bring(twin, row, variation)
        pivot = STAND_AT + np.array([*variation[4:6], STANDING])
        hand = pivot + BEFORE + variation[6:9]
        turned = Rotation.from_rotvec(variation[9:12]).as_matrix() @ HAND
        joints = self._kinematics.solve(
            [LEFT_AT + variation[12:15], hand], [HAND, turned], warm=self._nominal
        )
        self._place_arms(twin, control, row, joints, np.array([WIDE, WIDE]))
        self._place_cutter(twin, row, pivot, Rotation.identity(), FREE)

    def settle(self, twin: Twin, control: CartesianControl, row: int, elapsed: float) -> float:
        """Wait until it is still."""
        if left := time_left(elapsed, DONE_AT):
            return left
        if self._upwards(twin, row)[2] < np.cos(np.radians(TILT)):
            raise ResetFailed("the cutter does not stand in its stand")
        self._delay[row] = self._latency[row]
        return 0.0
