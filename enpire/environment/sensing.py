"""What a station sees: the same quantities, with the same noise, as on an arm.

Joint positions and wrist forces come from the arm, object poses from a tracker (or, on the bench,
from cameras). The tracker's error is white noise at every reading plus a bias that stays for the
episode.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from enpire.environment.control import CartesianControl
from enpire.twin import Twin
from enpire.twin.twin import Rows
from enpire.types import FloatArray


@dataclass(frozen=True, slots=True)
class SensorNoise:
    """Standard deviations: white per reading, bias per episode.

    position [m] and rotation [rad] of the tracked objects, joint [rad], force [N].
    """

    position: float = 0.0003
    position_bias: float = 0.00025
    rotation: float = 0.006
    rotation_bias: float = 0.006
    joint: float = 0.0001
    force: float = 0.08


@dataclass(frozen=True, slots=True)
class Readings:
    """One control period's sensor values of m stations.

    joints: (m, arms, dof) rad. gripper: (m, arms), opening in the gripper's unit.
    hand_position: (m, arms, 3) m and hand_rotation: (m, arms, 3, 3), grasp frame to world.
    wrist_force: (m, arms, 3) N, in the world frame, zero at the end of the reset.
    lead: (m, arms, 3) m, how far the hand's setpoint is ahead of the hand.
    position: (m, objects, 3) m and rotation: (m, objects, 3, 3), tracked frame to world.
    """

    joints: FloatArray
    gripper: FloatArray
    hand_position: FloatArray
    hand_rotation: FloatArray
    wrist_force: FloatArray
    lead: FloatArray
    position: FloatArray
    rotation: FloatArray

    def at(self, chosen: list[int]) -> Readings:
        """The readings of some of the stations, in that order."""
        return Readings(*(getattr(self, name)[chosen] for name in self.__slots__))

    def row(self, i: int) -> Readings:
        """The readings of the i-th station alone, keeping the leading axis."""
        return self.at([i])


class Sensors:
    """Reads a twin as an arm would be read."""

    def __init__(
        self, control: CartesianControl, tracked: tuple[str, ...], noise: SensorNoise, periods: int
    ) -> None:
        """Track the sites `tracked`; `periods` is the longest episode, in control periods."""
        self.twin: Twin = control.twin
        self.control = control
        self.noise = noise
        model, arms, n = self.twin.model, self.twin.scene.arms, self.twin.stations
        self._tracked = np.array([model.site(name).id for name in tracked], dtype=np.int64)
        self._grasp = np.array([arm.grasp for arm in arms])
        self._wrist = np.array([arm.wrist for arm in arms])
        self._force = np.array([arm.force for arm in arms])  # (arms, samples, 3)
        self._grippers = np.array([arm.gripper for arm in arms])
        self._periods = periods
        draws = n * periods  # one station's after the other's
        self._position = np.zeros((draws, len(tracked), 3))
        self._rotation = np.zeros((draws, len(tracked), 3, 3))
        self._joint = np.zeros((draws, len(arms), len(arms[0].joints)))
        self._wrist_noise = np.zeros((draws, len(arms), 3))
        self._tare = np.zeros((n, len(arms), 3))

    def begin(self, row: int, rng: np.random.Generator) -> None:
        """Draw one episode's sensor errors and zero the force sensors as they stand."""
        noise, mine = self.noise, slice(row * self._periods, (row + 1) * self._periods)
        position, joint, force = self._position[mine], self._joint[mine], self._wrist_noise[mine]
        bias = rng.normal(0, 1, (2, *position.shape[1:]))
        position[...] = noise.position * rng.standard_normal(position.shape)
        position += noise.position_bias * bias[0]
        turn = noise.rotation * rng.standard_normal(position.shape)
        self._rotation[mine] = small_rotation(turn + noise.rotation_bias * bias[1])
        joint[...] = noise.joint * rng.standard_normal(joint.shape)
        force[...] = noise.force * rng.standard_normal(force.shape)
        here = np.array([row])
        self._tare[row] = self._world_force(here, self._frames(here))[0]

    def read(self, rows: Rows, periods: Sequence[int], jacobian: FloatArray) -> Readings:
        """Read the stations `rows`, each at its own control period since its reset."""
        last = self._periods - 1
        now = [
            row * self._periods + min(period, last)
            for row, period in zip(rows.tolist(), periods, strict=True)
        ]
        position, frames = self.twin.site_xpos.take(rows, 0), self._frames(rows)
        felt = self._world_force(rows, frames) - self._tare.take(rows, 0)
        return Readings(
            joints=self.control.measured(rows) + self._joint.take(now, 0),
            gripper=self.twin.actuator_length.take(rows, 0).take(self._grippers, 1),
            hand_position=position.take(self._grasp, 1),
            hand_rotation=frames.take(self._grasp, 1),
            wrist_force=felt + self._wrist_noise.take(now, 0),
            lead=self.control.lead(rows, jacobian),
            position=position.take(self._tracked, 1) + self._position.take(now, 0),
            rotation=self._rotation.take(now, 0) @ frames.take(self._tracked, 1),
        )

    def _frames(self, rows: Rows) -> FloatArray:
        """Of all sites, to world, shape (m, sites, 3, 3)."""
        return self.twin.site_xmat.take(rows, 0).reshape(len(rows), -1, 3, 3)

    def _world_force(self, rows: Rows, frames: FloatArray) -> FloatArray:
        force = self.twin.history.take(rows, 0).take(self._force, 1).mean(axis=2)
        result: FloatArray = (frames.take(self._wrist, 1) @ force[..., None])[..., 0]
        return result


def small_rotation(vector: FloatArray) -> FloatArray:
    """Rotation matrices (..., 3, 3) of small rotation vectors (..., 3), to second order [rad]."""
    x, y, z = vector[..., 0], vector[..., 1], vector[..., 2]
    zero = np.zeros_like(x)
    skew = np.stack(
        [np.stack([zero, -z, y], -1), np.stack([z, zero, -x], -1), np.stack([-y, x, zero], -1)], -2
    )
    return np.eye(3) + skew + 0.5 * skew @ skew
