"""Devices in a person's hands beside the page: a leader arm, or what says how a hand is to move.

Both move the hand from where it is. Nobody has to hold a leader arm as the arm stands, so a policy
can be relieved in whatever posture it has come to; and one leader does for many stations.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from scipy.spatial.transform import Rotation

from enpire.drivers.driver import Reading
from enpire.drivers.lerobot.leader import Deltas, split
from enpire.environment.kinematics import Forward
from enpire.packs import Robot
from enpire.people.operator_command import OperatorCommand
from enpire.types import FloatArray

SILENT_S = 0.1  # a device that was not heard of for so long moves nothing
LET_GO_S = 1.0  # that who has given way to a policy has not intervened
DEAD = 0.05  # of a full action, in which a device rests
GAIN = 0.5  # share of the way to where the leader wants the hand, in a control period
SLIP = 10.0  # full actions that the hand may be behind; what is more is not caught up with
TOUCH = 0.1  # that a leader's joint moves in `TOUCH_S`, at least, when somebody takes it [rad]
TOUCH_S = 1.0
NEAR = 0.25  # of [-1, 1]: a leader's gripper that comes so near to the gripper has it


@dataclass(frozen=True, slots=True)
class Posture:
    """The posture of the hands of one station that a device moves, as many as it has arms."""

    position: FloatArray  # (arms, 3) m
    rotation: FloatArray  # (arms, 3, 3)
    gripper: FloatArray  # what they were told last, (arms,)
    scale: FloatArray  # of a full action, (arms, 6), m and rad


class Device(Protocol):
    """It is asked once a control period, of the station that its holder acts on."""

    @property
    def arms(self) -> int:
        """How many hands it moves."""

    @property
    def touched(self) -> bool:
        """Whether its holder wants to act now."""

    def was_given(self, command: OperatorCommand) -> bool:
        """Whether a command was given by it since it was last asked for."""

    def let_go(self) -> None:
        """Move other hands from now on, from where they are; what was said before is void."""

    def act(self, here: Posture) -> FloatArray:
        """Full actions and grippers, (arms, 7) in [-1, 1]; raises DriverError if it is lost."""


class TwistDevice:
    """LeRobot's `gamepad` and its like: twists, a gripper to open or to close, and commands."""

    arms = 1

    def __init__(self, device: Deltas, clock: Callable[[], int] = time.monotonic_ns) -> None:
        """device: connected."""
        self._device, self._clock = device, clock
        self._said: set[OperatorCommand] = set()
        self._intervened = 0  # when its holder last did, and has not said so yet

    @property
    def touched(self) -> bool:
        """Whether it is touched, by its own word; else, whether it moves something."""
        self._hear()
        if self._device.speaks:
            return self._device.intervenes
        return bool(self._wanted().any())

    def was_given(self, command: OperatorCommand) -> bool:
        """See `Device`; its holder gives back by not intervening for a while."""
        self._hear()
        there = command in self._said
        self._said.discard(command)
        return there

    def let_go(self) -> None:
        """See `Device`."""
        self._hear()
        self._said.clear()
        self._intervened = 0

    def act(self, here: Posture) -> FloatArray:
        """See `Device`."""
        self._hear()
        wanted = self._wanted()
        action = np.zeros((1, 7))
        action[0, :3] = wanted[:3]
        action[0, 6] = wanted[3] or here.gripper[0]
        return action

    def _wanted(self) -> FloatArray:
        """Moves and the gripper, (4,); nothing of a device that is silent."""
        reading = self._device.read()
        if _silent(reading, self._clock()):
            return np.zeros(4)
        wanted = reading.position.clip(-1.0, 1.0)
        return np.where(abs(wanted) > DEAD, wanted, 0.0)

    def _hear(self) -> None:
        events, now = self._device.take_events(), self._clock()
        if "rerecord_episode" in events:
            self._said.add(OperatorCommand.DISCARD)
        elif events:
            self._said.add(OperatorCommand.DONE)
        if self._device.intervenes:
            self._intervened = now
        elif self._intervened and now - self._intervened > LET_GO_S * 1e9:
            self._intervened = 0
            self._said.add(OperatorCommand.GIVE_BACK)


class Reader(Protocol):
    """What a leader arm is read by."""

    def read(self) -> Reading:
        """Read where it is."""


@dataclass(frozen=True, slots=True)
class _Clutch:
    """Where a leader's hands and those that they move were when it closed, (arms, 3) each."""

    led: FloatArray
    led_rotation: FloatArray
    hand: FloatArray
    hand_rotation: FloatArray


class Leading:
    """A leader arm: as its hand moves in the world, so do the hands of the station.

    From where they were when its holder took over: as a mouse moves a pointer. A gripper is its
    holder's once the leader's has come near to where it is, or past it, so that nothing is dropped.
    """

    def __init__(
        self,
        leader: Reader,
        robot: Robot,
        forward: Forward,
        clock: Callable[[], int] = time.monotonic_ns,
    ) -> None:
        """leader: connected; robot: what it is built as; forward: its kinematics."""
        self._leader, self._robot, self._forward, self._clock = leader, robot, forward, clock
        self._clutch: _Clutch | None = None
        self._gripping: FloatArray | None = None  # the leader's, while each is not its holder's
        self._has = np.zeros(len(robot.arms), bool)
        self._rested, self._rested_at = self._leader.read().position, self._clock()

    @property
    def arms(self) -> int:
        """The leader's."""
        return len(self._robot.arms)

    @property
    def touched(self) -> bool:
        """Whether a joint has moved of late."""
        reading = self._leader.read()
        joints, _ = split(self._robot, abs(reading.position - self._rested))
        if joints.max() > TOUCH:
            return True
        if self._clock() - self._rested_at > TOUCH_S * 1e9:
            self._rest(reading)
        return False

    def was_given(self, command: OperatorCommand) -> bool:
        """See `Device`: it has no buttons."""
        return False

    def let_go(self) -> None:
        """See `Device`."""
        self._clutch, self._gripping = None, None
        self._rest(self._leader.read())

    def act(self, here: Posture) -> FloatArray:
        """See `Device`."""
        reading = self._leader.read()
        action = np.zeros((self.arms, 7))
        action[:, 6] = here.gripper
        if _silent(reading, self._clock()):
            self._clutch = None  # what it did meanwhile is not made up for
            return action
        joints, grippers = split(self._robot, reading.position)
        position, rotation = self._forward.hands(joints)
        if self._clutch is None:
            self._clutch = _Clutch(position, rotation, here.position, here.rotation)
        action[:, :6] = self._follow(self._clutch, position, rotation, here)
        action[:, 6] = self._grip(grippers, here.gripper)
        return action

    def _follow(
        self, clutch: _Clutch, led: FloatArray, led_rotation: FloatArray, here: Posture
    ) -> FloatArray:
        """Towards where the leader wants the hands, in full actions, (arms, 6)."""
        way, turned = led - clutch.led, led_rotation @ clutch.led_rotation.transpose(0, 2, 1)
        turn = turned @ clutch.hand_rotation @ here.rotation.transpose(0, 2, 1)
        move = clutch.hand + way - here.position
        off = np.concatenate([move, Rotation.from_matrix(turn).as_rotvec()], axis=1)
        free, most = here.scale > 0, SLIP * here.scale
        near = off.clip(-most, most)
        if (near != off)[free].any():
            slipped = Rotation.from_rotvec(near[:, 3:]).as_matrix() @ here.rotation
            self._clutch = replace(
                clutch,
                hand=here.position + near[:, :3] - way,
                hand_rotation=turned.transpose(0, 2, 1) @ slipped,
            )
        twist = np.where(free, GAIN * near / np.where(free, here.scale, 1.0), 0.0)
        return twist.clip(-1.0, 1.0)

    def _grip(self, openings: FloatArray, before: FloatArray) -> FloatArray:
        """What grippers are told, (arms,), by the leader's openings and what they were before."""
        now = gripper_setpoints(openings, self._robot)
        if self._gripping is None:
            self._gripping, self._has = now, np.zeros(self.arms, bool)
        passed = (now - before) * (self._gripping - before) <= 0.0
        self._has |= passed | (abs(now - before) <= NEAR)
        self._gripping = now
        return np.where(self._has, now, before)

    def _rest(self, reading: Reading) -> None:
        self._rested, self._rested_at = reading.position, self._clock()


def gripper_setpoints(openings: FloatArray, robot: Robot) -> FloatArray:
    """What grippers are told by an action that has them at these openings, (arms,) in [-1, 1]."""
    closed, opened = np.array([arm.gripper_range for arm in robot.arms], np.float64).T
    as_told: FloatArray = np.clip(2 * (openings - closed) / (opened - closed) - 1, -1.0, 1.0)
    return as_told


def _silent(reading: Reading, now: int) -> bool:
    return now - reading.stamp > SILENT_S * 1e9
