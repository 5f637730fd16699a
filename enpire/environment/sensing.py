"""What a station sees: the same quantities, with the same noise, as on an arm.

Joint positions and wrist forces come from the arm, object poses from a tracker (or, on the bench,
from cameras). The tracker's error is white noise at every reading plus a bias that stays for the
episode.
"""

from __future__ import annotations

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
        self._force = np.array([arm.force + np.arange(3) for arm in arms])
        self._grippers = np.array([arm.gripper for arm in arms])
        objects, dof = len(tracked), len(arms[0].joints)
        self._periods = periods
        self._position = np.zeros((n, periods, objects, 3))
        self._rotation = np.zeros((n, periods, objects, 3, 3))
        self._joint = np.zeros((n, periods, len(arms), dof))
        self._wrist_noise = np.zeros((n, periods, len(arms), 3))
        self._tare = np.zeros((n, len(arms), 3))

    def begin(self, row: int, rng: np.random.Generator) -> None:
        """Draw one episode's sensor errors and zero the force sensors as they stand."""
        noise, (_, periods, objects, _) = self.noise, self._position.shape
        bias = rng.normal(0, 1, (2, objects, 3))
        self._position[row] = noise.position * rng.standard_normal((periods, objects, 3))
        self._position[row] += noise.position_bias * bias[0]
        turn = noise.rotation * rng.standard_normal((periods, objects, 3))
        self._rotation[row] = small_rotation(turn + noise.rotation_bias * bias[1])
        self._joint[row] = noise.joint * rng.standard_normal(self._joint.shape[1:])
        self._wrist_noise[row] = noise.force * rng.standard_normal(self._wrist_noise.shape[1:])
        self._tare[row] = self._world_force(np.array([row]))[0]

    def read(self, rows: Rows, period: Rows, jacobian: FloatArray) -> Readings:
        """Read the stations `rows`, each at its own control `period` since its reset."""
        twin = self.twin
        at = np.minimum(period, self._periods - 1)
        true_rotation = twin.site_xmat[rows[:, None], self._tracked].reshape(len(rows), -1, 3, 3)
        return Readings(
            joints=self.control.measured(rows) + self._joint[rows, at],
            gripper=twin.actuator_length[rows[:, None], self._grippers],
            hand_position=twin.site_xpos[rows[:, None], self._grasp],
            hand_rotation=twin.site_xmat[rows[:, None], self._grasp].reshape(len(rows), -1, 3, 3),
            wrist_force=self._world_force(rows) - self._tare[rows] + self._wrist_noise[rows, at],
            lead=self.control.lead(rows, jacobian),
            position=twin.site_xpos[rows[:, None], self._tracked] + self._position[rows, at],
            rotation=self._rotation[rows, at] @ true_rotation,
        )

    def _world_force(self, rows: Rows) -> FloatArray:
        force = self.twin.sensordata[rows[:, None, None], self._force]
        frame = self.twin.site_xmat[rows[:, None], self._wrist].reshape(len(rows), -1, 3, 3)
        result: FloatArray = (frame @ force[..., None])[..., 0]
        return result


def small_rotation(vector: FloatArray) -> FloatArray:
    """Rotation matrices (..., 3, 3) of small rotation vectors (..., 3), to second order [rad]."""
    x, y, z = vector[..., 0], vector[..., 1], vector[..., 2]
    zero = np.zeros_like(x)
    skew = np.stack(
        [np.stack([zero, -z, y], -1), np.stack([z, zero, -x], -1), np.stack([-y, x, zero], -1)], -2
    )
    return np.eye(3) + skew + 0.5 * skew @ skew
