"""A physical reset: push the block to where it is to lie, and lift the hand clear of it."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

import numpy as np

from enpire.environment import ActionSpec, Readings, Restorer
from enpire.types import Float32Array, FloatArray, Predicate

from .demonstrator import Teleoperator
from .geometry import CLEAR, GOAL, block_pose, mean_pose, overlap, posture

CARE, GOOD = 0.91, 0.90  # share of its outline at the target that is enough, and still is
ALLOWED = 0.86  # the same, at the look
NEARLY = 0.80  # the same, of a place half-way
PATIENCE = 350  # control periods of pushing straight to the target, or to a place half-way
HALF_WAY = 0.4  # from the middle of the tray to the target: fingers get at all faces there
LIFTED = 0.065  # height of a hand that is out of the way [m]
FLAT = 5.0  # that the block may lean [deg]
GLANCE = 4  # readings that are seen as one


class PutBack(Restorer):
    """The block to `target`: its pose (3,), then the joints' offsets at the start."""

    def __init__(self, rng: np.random.Generator, actions: ActionSpec, target: FloatArray) -> None:
        """Push as the demonstrator does, with a steady hand."""
        self._goal = target[:3]
        self.posture = posture(target[3:])
        middle = GOAL[:2] + HALF_WAY * (target[:2] - GOAL[:2])
        self._half_way = np.array([*middle, target[2]])
        self._actions = actions
        self._rng = rng
        self._steer(self._goal)
        self._poses: deque[FloatArray] = deque(maxlen=GLANCE)

    def clear(self, readings: Readings) -> Float32Array | None:
        """Straight up, and back to where the hand may be, where a joint's stop has kept it out."""
        x, _, z = readings.hand_position[0, 0]
        left = LIFTED - z
        if left < 0.003:
            return None
        action = np.zeros(self._actions.size, dtype=np.float32)
        way = np.array([max(0.0, self._actions.arms[0].low[0] - x), 0.0, left])
        action[:3] = np.minimum(1.0, 0.4 * way / self._actions.scale[0, :3])
        action[6] = -1.0
        return action

    def act(self, readings: Readings) -> Float32Array | None:
        """Push, by way of a place half-way if it does not work out; done with the hand above."""
        self._poses.append(block_pose(readings)[0])
        self._periods += 1
        pose = mean_pose(np.array(self._poses))
        if readings.hand_position[0, 0, 2] > CLEAR and overlap(pose, self._goal) > GOOD:
            return None
        to_target = self._to is self._goal
        if self._periods > PATIENCE or (not to_target and overlap(pose, self._half_way) > NEARLY):
            self._steer(self._half_way if to_target else self._goal)
        return self._pusher.act(readings)

    def _steer(self, goal: FloatArray) -> None:
        self._to = goal
        care = (CARE, CARE)
        self._pusher = Teleoperator(self._rng, self._actions, goal, care, tremor=0.0)
        self._periods = 0

    def in_place(self, readings: Sequence[Readings]) -> tuple[Predicate, ...]:
        """The block covers its outline at the target, and lies flat."""
        covered = overlap(mean_pose(np.array([block_pose(r)[0] for r in readings])), self._goal)
        upright = min(1.0, float(np.mean([abs(r.rotation[0, 0, 2, 2]) for r in readings])))
        lean = float(np.degrees(np.arccos(upright)))
        return (
            Predicate("block_covers", 100 * covered, 100 * ALLOWED, "%"),
            Predicate("block_flat", lean, FLAT, "deg", at_least=False),
        )
