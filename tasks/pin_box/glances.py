"""What a robot at rest sees of pins and box: several readings as one."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable

import numpy as np
from scipy.spatial.transform import Rotation

from enpire.environment import Readings
from enpire.types import FloatArray

from .frames import in_holes

GLANCE = 6  # readings that are seen as one
RESTS = 0.0012  # what a pin that rests seems to move by within a glance [m]


class Glances:
    """The last readings of one station (m = 1), and their means."""

    def __init__(self, readings: Iterable[Readings] = (), most: int | None = GLANCE) -> None:
        """Keep the last `most`."""
        self._seen = deque(readings, most)

    def add(self, readings: Readings) -> None:
        """One more; the oldest is forgotten."""
        self._seen.append(readings)

    def forget(self) -> None:
        """All of them: the hand has moved."""
        self._seen.clear()

    def pin(self, pin: int) -> tuple[FloatArray, FloatArray]:
        """A pin's end (3,) [m] and axis (3,), world frame."""
        end = np.mean([r.position[0, 1 + pin] for r in self._seen], axis=0)
        return end, _unit([r.rotation[0, 1 + pin, :, 2] for r in self._seen])

    def in_hand(self, pin: int) -> tuple[FloatArray, FloatArray]:
        """The same in the grasp frame: it moves with the hand."""
        frames = [r.hand_rotation[0, 0] for r in self._seen]
        offsets = [r.position[0, 1 + pin] - r.hand_position[0, 0] for r in self._seen]
        axes = [r.rotation[0, 1 + pin, :, 2] for r in self._seen]
        end = np.mean([frame.T @ o for frame, o in zip(frames, offsets, strict=True)], axis=0)
        return end, _unit([frame.T @ axis for frame, axis in zip(frames, axes, strict=True)])

    def box(self) -> tuple[FloatArray, FloatArray]:
        """The box's position (3,) [m] and frame (3, 3), level."""
        at = np.mean([r.position[0, 0] for r in self._seen], axis=0)
        x = np.mean([r.rotation[0, 0, :2, 0] for r in self._seen], axis=0)
        yaw = math.atan2(x[1], x[0])
        return at, Rotation.from_rotvec((0.0, 0.0, yaw)).as_matrix()

    def ends(self) -> FloatArray:
        """All pins' ends in their holes' frames, (pins, 3) [m]."""
        result: FloatArray = np.mean([in_holes(r)[0][0] for r in self._seen], axis=0)
        return result

    def tilts(self) -> FloatArray:
        """All pins' angles to their holes' axes (pins,) [rad]."""
        axes = np.mean([in_holes(r)[1][0] for r in self._seen], axis=0)
        result: FloatArray = np.arctan2(np.linalg.norm(axes[:, :2], axis=1), axes[:, 2])
        return result

    def rest(self) -> bool:
        """Whether all pins do, as far as can be seen."""
        if len(self._seen) < GLANCE:
            return False
        at = np.array([r.position[0, 1:] for r in self._seen])
        half = len(at) // 2
        moved = np.linalg.norm(at[half:].mean(axis=0) - at[:half].mean(axis=0), axis=-1)
        return bool(moved.max() < RESTS)


def _unit(vectors: list[FloatArray]) -> FloatArray:
    mean: FloatArray = np.mean(vectors, axis=0)
    return mean / np.linalg.norm(mean)
