"""A physical reset: push the block to where it is to lie, and lift the hand clear of it."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

import numpy as np

from enpire.environment import ActionSpec, Readings, Restorer
from enpire.types import Float32Array, FloatArray, Predicate

from .demonstrator import Teleoperator
from .geometry import CLEAR, block_pose, mean_pose, overlap, posture

GOOD = 0.92  # share of its outline at the target that the block covers when the hand lets it be
ALLOWED = 0.88  # the same, at the look
FLAT = 5.0  # that the block may lean [deg]
GLANCE = 4  # readings that are seen as one


class PutBack(Restorer):
    """The block to `target`: its pose (3,), then the joints' offsets at the start."""

    def __init__(self, rng: np.random.Generator, actions: ActionSpec, target: FloatArray) -> None:
        """Push as the demonstrator does, with a steady hand."""
        self._goal = target[:3]
        self.posture = posture(target[3:])
        self._pusher = Teleoperator(rng, actions, self._goal, tremor=0.0)
        self._poses: deque[FloatArray] = deque(maxlen=GLANCE)

    def act(self, readings: Readings) -> Float32Array | None:
        """One control period's action; none once the block lies there and the hand is above it."""
        self._poses.append(block_pose(readings)[0])
        clear = readings.hand_position[0, 0, 2] > CLEAR
        if clear and overlap(mean_pose(np.array(self._poses)), self._goal) > GOOD:
            return None
        return self._pusher.act(readings)

    def in_place(self, readings: Sequence[Readings]) -> tuple[Predicate, ...]:
        """The block covers its outline at the target, and lies flat."""
        covered = overlap(mean_pose(np.array([block_pose(r)[0] for r in readings])), self._goal)
        upright = min(1.0, float(np.mean([abs(r.rotation[0, 0, 2, 2]) for r in readings])))
        lean = float(np.degrees(np.arccos(upright)))
        return (
            Predicate("block_covers", 100 * covered, 100 * ALLOWED, "%"),
            Predicate("block_flat", lean, FLAT, "deg", at_least=False),
        )
