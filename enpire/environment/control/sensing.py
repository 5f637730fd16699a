"""What a station sees: the same quantities, with the same noise, as on an arm.

Joint positions and wrist forces come from the arm, object poses from a tracker (or, on the bench,
from cameras). The tracker's error is white noise at every reading plus a bias that stays for the
episode. The tracker is also late, by a time that stays for the episode: a pose is between those of
the last control period and of this one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from enpire.environment.control import kernels
from enpire.environment.control.cartesian_control import CartesianControl
from enpire.environment.control.kernels import Indices
from enpire.errors import PackError
from enpire.twin import Twin
from enpire.twin.twin import Rows
from enpire.types import FloatArray

ROUNDING = 1e-9  # of a count of periods
UNREAD = -1.0  # no control period has been read yet


@dataclass(frozen=True, slots=True)
class SensorNoise:
    """Standard deviations: white per reading, bias per episode.

    position [m] and rotation [rad] of the tracked objects, joint [rad], force [N]. latency: the
    most that the tracker is late [s], drawn evenly from 0 up for each episode. A latency is at most
    one control period. Two more are for stress tests. delay: by which the tracker is late besides,
    in every episode [s]. offset: of all tracked positions alike, in a direction that each episode
    draws [m].
    """

    position: float = 0.0003
    position_bias: float = 0.00025
    rotation: float = 0.006
    rotation_bias: float = 0.006
    joint: float = 0.0001
    force: float = 0.08
    latency: float = 0.03  # a camera at 60 frames a second, half a frame exposed, one processed
    delay: float = 0.0
    offset: float = 0.0


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

    @property
    def axes(self) -> FloatArray:
        """Joints and grippers, (m, axes), as `enpire.drivers.Reading` has them."""
        m, arms, dof = self.joints.shape
        both = np.concatenate([self.joints, self.gripper[..., None]], axis=2)
        return both.reshape(m, arms * (dof + 1))  # of no rows too

    def at(self, chosen: list[int]) -> Readings:
        """The readings of some of the stations, in that order."""
        return Readings(*(getattr(self, name)[chosen] for name in self.__slots__))

    def row(self, i: int) -> Readings:
        """The readings of the i-th station alone, keeping the leading axis."""
        if len(self.joints) == 1:
            return self
        return Readings(*(getattr(self, name)[i : i + 1] for name in self.__slots__))

    def untracked(self) -> Readings:
        """The same where nothing is tracked: positions and rotations are NaN."""
        position = np.full_like(self.position, np.nan)
        return replace(self, position=position, rotation=np.full_like(self.rotation, np.nan))

    @classmethod
    def joined(cls, parts: Sequence[Readings]) -> Readings:
        """All of them, one after the other along the leading axis."""
        return cls(*(np.concatenate([getattr(p, n) for p in parts]) for n in cls.__slots__))


class Sensors:
    """Reads a twin as an arm would be read.

    READ names the twin's arrays, tables say where each arm's quantities stand in them, and errors
    are those of each station; all as `kernels.read` takes them.
    """

    READ = ("qpos", "actuator_length", "xanchor", "xaxis", "site_xpos", "site_xmat", "history")

    def __init__(
        self, control: CartesianControl, tracked: tuple[str, ...], noise: SensorNoise, periods: int
    ) -> None:
        """Track the sites `tracked`; `periods` is the longest episode, in control periods.

        Raises:
            PackError: the noise's latency is longer than a control period.
        """
        if not 0.0 <= noise.latency <= control.period:
            raise PackError(
                f"the tracker's latency is {noise.latency} s; it must be from 0 to one control "
                f"period, {control.period} s"
            )
        self.twin: Twin = control.twin
        self.control = control
        self.noise = noise
        self.periods = periods
        model, arms, n = self.twin.model, self.twin.scene.arms, self.twin.stations
        self._tracked = np.array([model.site(name).id for name in tracked], dtype=np.int64)
        self._wrist = np.array([arm.wrist for arm in arms])
        self._force = np.array([arm.force for arm in arms])
        self._joint_qpos = np.array([arm.qpos for arm in arms])
        self.tables: tuple[Indices, ...] = (
            np.array([arm.joints for arm in arms]),
            self._joint_qpos,
            np.array([arm.gripper for arm in arms]),
            np.array([arm.grasp for arm in arms]),
            self._wrist,
            self._force,
            self._tracked,
        )
        self._white: tuple[FloatArray, ...] = (  # and what stays for an episode
            np.zeros((n, periods, *self._joint_qpos.shape)),
            np.zeros((n, periods, len(arms), 3)),
            np.zeros((n, periods, len(tracked), 3)),
            np.zeros((n, periods, len(tracked), 3)),
        )
        self._tare = np.zeros((n, len(arms), 3))
        kept = 2 + math.ceil(noise.delay / control.period - ROUNDING)
        self._late = np.tile([0.0, UNREAD], (n, 1))  # in control periods; the period read last
        self._past = np.zeros((n, kept, len(tracked), 12))  # true poses of the last periods
        self._offset = np.zeros((n, 3))  # of all tracked positions [m]
        self.errors: tuple[FloatArray, ...] = (*self._white, self._tare, self._late, self._past)
        self._bias = np.zeros((n, 2, len(tracked), 3))  # of position and rotation, in their units

    def begin(self, row: int, rng: np.random.Generator) -> None:
        """Draw one episode's sensor errors and zero the force sensors as they stand."""
        self.draw(row, rng)
        twin, here, mine = self.twin, np.array([row]), self._tare[row : row + 1]
        kernels.wrist_force(here, twin.site_xmat, twin.history, self._wrist, self._force, mine)

    def tare(self, row: int) -> FloatArray:
        """What a station's wrists take for nothing, (arms, 3) [N], along the world's axes."""
        tare: FloatArray = self._tare[row]
        return tare

    def draw(self, row: int, rng: np.random.Generator) -> None:
        """Draw sensor errors anew, for `periods` readings."""
        twin, tracked = self.twin, self._tracked
        noise = self.noise
        self._bias[row] = rng.normal(0, 1, self._bias.shape[1:])
        self._offset[row] = 0.0
        self.draw_again(row, rng, 0)
        late = rng.uniform(0.0, noise.latency) + noise.delay
        self._late[row] = late / self.control.period, UNREAD
        if noise.offset:  # drawn last: all else is as without it
            drawn = rng.standard_normal(3)
            self._offset[row] = noise.offset * drawn / np.linalg.norm(drawn)
            self._white[2][row] += self._offset[row]
        self._past[row, :, :, :3] = twin.site_xpos[row, tracked]
        self._past[row, :, :, 3:] = twin.site_xmat[row, tracked].reshape(len(tracked), 9)

    def draw_again(self, row: int, rng: np.random.Generator, start: int) -> None:
        """Draw white noise anew from period `start` on; what stays for an episode stays."""
        noise, bias = self.noise, self._bias[row]
        joint, force, position, rotation = (errors[row, start:] for errors in self._white)
        position[...] = noise.position * rng.standard_normal(position.shape)
        position += noise.position_bias * bias[0]
        position += self._offset[row]
        rotation[...] = noise.rotation * rng.standard_normal(rotation.shape)
        rotation += noise.rotation_bias * bias[1]
        joint[...] = noise.joint * rng.standard_normal(joint.shape)
        force[...] = noise.force * rng.standard_normal(force.shape)

    def read(self, rows: Rows, periods: Sequence[int]) -> tuple[Readings, FloatArray]:
        """Read the stations `rows`, each at its own control period since its reset.

        With it comes what `CartesianControl.jacobian` returns for them.
        """
        twin, last = self.twin, self.periods - 1
        sensed, jacobian = self.blank(len(rows))
        now = np.array([min(period, last) for period in periods])
        live = tuple(getattr(twin, name) for name in self.READ)
        setpoints = self.control.setpoints
        kernels.read(rows, now, setpoints, live, self.tables, self.errors, jacobian, sensed)
        return Readings(*sensed), jacobian

    def blank(self, m: int) -> tuple[tuple[FloatArray, ...], FloatArray]:
        """Arrays for m readings, in the order and the shapes of `Readings`, and for Jacobians."""
        objects, (arms, dof) = len(self._tracked), self._joint_qpos.shape
        sensed = (
            np.empty((m, arms, dof)),
            np.empty((m, arms)),
            np.empty((m, arms, 3)),
            np.empty((m, arms, 3, 3)),
            np.empty((m, arms, 3)),
            np.empty((m, arms, 3)),
            np.empty((m, objects, 3)),
            np.empty((m, objects, 3, 3)),
        )
        return sensed, np.empty((m, arms, 6, dof))
