"""A supervisor over mock arms, with a clock that is moved by hand; and a judge of what was sent."""

from __future__ import annotations

import functools
from pathlib import Path

import numpy as np

from enpire.drivers import Reading
from enpire.drivers.mock import Mock
from enpire.packs import Robot, find, load_robot
from enpire.safety.gate import Space
from enpire.safety.geometry import Box, Geometry
from enpire.safety.limits import SafetyLimits, of_robot
from enpire.safety.machine import Mode
from enpire.safety.messages import SetpointRequest
from enpire.safety.recorder import Recorder
from enpire.safety.rules import GateRule
from enpire.safety.supervisor import Liveness, Supervisor
from enpire.types import FloatArray

PERIOD = 0.01


class Anywhere:
    """Space without a bound in which the hand is where the first three axes say [m]."""

    def forbidden(self, posture: FloatArray) -> GateRule:
        return GateRule.NONE

    def blocked(self, start: FloatArray, end: FloatArray) -> GateRule:
        return GateRule.NONE

    def hands(self, posture: FloatArray) -> FloatArray:
        return posture[None, :3] * 0.01


class Arms(Mock):
    """Mock arms that can be told to fail."""

    def __init__(self, robot: Robot, clock) -> None:
        super().__init__(robot, clock)
        self.broken = False
        self.frozen = False
        self.force = 0.0
        self.pushed: FloatArray | None = None
        self._last: Reading | None = None
        self.sent: list[tuple[FloatArray | None, FloatArray]] = []  # None: stopped; and where

    def read(self) -> Reading:
        if self.broken:
            raise OSError("bus")
        if self.frozen and self._last:
            return self._last
        reading = super().read()
        if self.pushed is not None:
            self.position = reading.position + self.pushed
            reading = Reading(
                reading.stamp, self.position, reading.velocity, reading.effort, reading.force
            )
        reading.force[:] = self.force
        self._last = reading
        return reading

    def send(self, setpoint: FloatArray) -> None:
        if self.broken:
            raise OSError("bus")
        super().send(setpoint)
        self.sent.append((np.array(setpoint), self.position))

    def stop(self) -> None:
        super().stop()
        self.sent.append((None, self.position))


class Unwritten(Recorder):
    """Writes nothing: for many stops in a row."""

    def dump(self, issued: int, mode: Mode, rules: GateRule, driver: str) -> None:
        pass


@functools.cache
def loaded(name: str) -> tuple[Robot, SafetyLimits]:
    robot = load_robot(find("robots", name))
    return robot, of_robot(robot)


class Rig:
    """Everything but a process."""

    def __init__(self, folder: Path, space: Space | None = None, records: bool = True) -> None:
        self.now = 10**12
        self.robot, self.limits = loaded("yam")
        self.arms = Arms(self.robot, lambda: self.now)
        self.arms.connect()
        self.message: tuple[int, bytes] | None = None
        self.beats: dict[int, int] = {}
        self.space = space or Anywhere()
        axes = len(self.limits.low)
        kind = Recorder if records else Unwritten
        self.recorder = kind(folder, axes, len(self.robot.arms), PERIOD)
        self.supervisor = Supervisor(
            self.arms,
            self.limits,
            self.space,
            self,
            self.recorder,
            np.where(self.limits.grippers, np.nan, self.arms.home),
            lambda: self.now,
            PERIOD,
            Liveness(alive=self, cameras=(0,), verifier=1),
        )
        self.tick()

    def newest(self) -> tuple[int, bytes] | None:
        return self.message

    def stamp(self, index: int) -> int:
        return self.beats.get(index, self.now)

    def put(self, body: bytes, skipped: int = 1) -> None:
        self.message = ((self.message or (0, b""))[0] + skipped, body)

    def want(self, setpoint: FloatArray, age: float = 0.0, rest: bool = False) -> None:
        stamp = self.now - round(age * 1e9)
        self.put(SetpointRequest(self.supervisor.epoch, stamp, setpoint, rest).encoded())

    def tick(self, count: int = 1) -> None:
        for _ in range(count):
            self.now += round(PERIOD * 1e9)
            self.supervisor.tick()

    def follow(self, setpoint: FloatArray, count: int = 1) -> None:
        for _ in range(count):
            self.now += 10**6
            self.want(setpoint)
            self.now -= 10**6
            self.tick()

    def moving(self) -> None:
        """Arm it and have it move joint 1."""
        self.supervisor.arm()
        target = self.arms.home.copy()
        target[0] += 0.15
        self.follow(target, 12)
        if self.supervisor.mode is not Mode.MOVING:
            raise ValueError(self.supervisor.rules.names)

    def settle(self) -> None:
        for _ in range(100):
            self.tick()


def broken(
    sent: list[tuple[FloatArray | None, FloatArray]], limits: SafetyLimits, space: Space, dt: float
) -> list[str]:
    """What setpoints break, by the log alone; a stop begins a new motion where the arms are."""
    found: list[str] = []
    last: FloatArray | None = None
    velocity = np.zeros_like(limits.low)
    for index, (setpoint, measured) in enumerate(sent):
        if setpoint is None:
            held = measured if last is None else np.where(limits.grippers, last, measured)
            last, velocity = np.clip(held, limits.low, limits.high), np.zeros_like(velocity)
            continue
        if setpoint.shape != limits.low.shape or not np.isfinite(setpoint).all():
            found.append(f"{index}: no numbers")
            continue
        slack = 1e-9
        if (setpoint < limits.low - slack).any() or (setpoint > limits.high + slack).any():
            found.append(f"{index}: range")
        if (abs(setpoint - measured) > limits.jump + slack).any():
            found.append(f"{index}: jump")
        if space.forbidden(setpoint):
            found.append(f"{index}: {space.forbidden(setpoint).names}")
        if last is not None:
            now = (setpoint - last) / dt
            if (abs(now) > limits.speed * (1 + 1e-6)).any():
                found.append(f"{index}: speed")
            if (abs(now - velocity) > limits.acceleration * dt * (1 + 1e-6) + 1e-9).any():
                found.append(f"{index}: acceleration")
            way = np.linalg.norm(space.hands(setpoint) - space.hands(last), axis=-1).max()
            if way > limits.cartesian_speed * dt * (1 + 1e-6):
                found.append(f"{index}: cartesian speed")
            velocity = now
        last = setpoint
    return found


@functools.cache
def walled() -> Geometry:
    """Of the arm with a wall beside it."""
    return Geometry(*loaded("yam"), [Box("wall", (0.2, 0.10, 0.0), (0.5, 0.3, 0.5))])
