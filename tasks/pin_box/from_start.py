"""The same task from its beginning: all pins lie in the tray, and are picked up one by one.

What is seen, verifier and demonstrator are those of `PinBox`; where an episode begins, how far the
hand may go and how long it may take are its own.
"""

from __future__ import annotations

import math

import numpy as np

from enpire.environment import ActionSpec, ArmAction, CartesianControl, time_left
from enpire.twin import Twin
from enpire.types import FloatArray

from .frames import BOX_AT, hand_rotation
from .parts import PIN_LENGTH, PIN_RADIUS, PINS, TRAY
from .reach import eased
from .task import PinBox

HAND = ArmAction((0.004,) * 3, (0.04,) * 3, low=(0.27, -0.13, 0.150), high=(0.52, 0.13, 0.290))
HAND_AT = BOX_AT + np.array([-0.12, 0.0, 0.0])  # over the pins, looking down, nominal [m]
DOWN = hand_rotation(math.pi / 2)
LANE = 0.045  # from pin to pin, across the tray [m]
LANES_AT = -0.115  # the pins' middles, along the tray, nominal [m]
OPEN = 0.022  # gripper setpoint in the reset [m]
DONE_AT = 0.30  # time in the reset [s]


class FromTray(PinBox):
    """All pins, lying in the tray with the end that goes in first towards the arm."""

    time_limit = 60.0
    actions = ActionSpec((HAND,), lead=0.06, push=6.0)
    variation_names = (
        *("box_x", "box_y", "box_yaw"),
        *("hand_x", "hand_y", "hand_z"),
        *(f"pin{i}_{a}" for i in range(PINS) for a in ("x", "y", "yaw")),
        *("friction", "latency"),
    )
    target_names = ()

    def after_compile(self, twin: Twin) -> None:
        """The hand looks down at the start."""
        super().after_compile(twin)
        self._nominal_joints = self._kinematics.solve([HAND_AT], [eased(HAND_AT, DOWN)])

    def sample(self, rng: np.random.Generator) -> FloatArray:
        """Box [m, rad], hand [m], pins in the tray [m, rad], friction's scale, latency [s]."""
        pins = rng.uniform((-0.020, -0.008, -0.35), (0.020, 0.008, 0.35), (PINS, 3))
        return np.concatenate(
            [
                rng.uniform((-0.008, -0.012, -0.15), (0.008, 0.012, 0.15)),
                rng.uniform(-0.02, 0.02, 3),
                pins.ravel(),
                rng.uniform((0.7, 0.0), (1.4, 0.03)),
            ]
        )

    def randomize_physics(self, twin: Twin, row: int, variation: FloatArray) -> None:
        """Friction, latency, the box's place."""
        self._vary_rest(twin.model, row, dict(zip(self.variation_names, variation, strict=True)))

    def set_initial_state(
        self, twin: Twin, control: CartesianControl, row: int, variation: FloatArray
    ) -> None:
        """Pins in their lanes, the hand above them and open."""
        v = dict(zip(self.variation_names, variation, strict=True))
        box, frame = self._place_box(row)
        for i in range(PINS):
            across = LANE * (i - (PINS - 1) / 2) + v[f"pin{i}_y"]
            middle = np.array([LANES_AT + v[f"pin{i}_x"], across, TRAY + PIN_RADIUS])
            yaw = v[f"pin{i}_yaw"]
            along = np.array([math.cos(yaw), math.sin(yaw), 0.0])
            lying = np.stack([np.cross((0, 0, 1), along), (0.0, 0.0, 1.0), along], axis=1)
            end = box + frame @ (middle - along * PIN_LENGTH / 2)
            self._place_pin(twin, row, self._pins[i], end, frame @ lying)
        hand = HAND_AT + variation[3:6]
        self._place_hand(twin, control, row, hand, eased(hand, DOWN), OPEN)
        self._delay[row] = 0.0

    def settle(self, twin: Twin, control: CartesianControl, row: int, elapsed: float) -> float:
        """Wait until it is still."""
        if left := time_left(elapsed, DONE_AT):
            return left
        self._delay[row] = self._latency[row]
        return 0.0
