"""Arms in MuJoCo, in real time: what a driver's code is tested against before it meets motors."""

from __future__ import annotations

from collections import deque

import mujoco
import numpy as np

from enpire.drivers.driver import Clock, Reading
from enpire.packs import Robot, find, load_world
from enpire.twin.composition import compose
from enpire.types import FloatArray

KEPT = 100_000  # setpoints in the log
BEHIND_S = 0.1  # simulated at once at most: who reads less often than that sees a slower world


class SimulatedDriver:
    """Arms of a robot pack on an empty bench; they begin at home with grippers open."""

    def __init__(self, robot: Robot, clock: Clock) -> None:
        """Simulate by `clock`; raises PackError if the pack does not compile."""
        self._clock = clock
        scene = compose(load_world(find("sim", "bench")), robot, lambda spec: None)
        self._model, self._data = scene.model, mujoco.MjData(scene.model)
        self._arms = scene.arms
        self._actuators = np.concatenate([[*arm.actuators, arm.gripper] for arm in scene.arms])
        self.home = np.concatenate([[*arm.home, arm.gripper_range[1]] for arm in robot.arms])
        for index, arm in zip(scene.arms, robot.arms, strict=True):
            self._data.qpos[index.qpos] = arm.home
        self._data.ctrl[self._actuators] = self.home
        self._at = 0
        self.log: deque[FloatArray] = deque(maxlen=KEPT)
        self.stops = 0

    def connect(self) -> None:
        """Begin the simulation; grippers have opened."""
        for _ in range(round(0.5 / self._model.opt.timestep)):
            mujoco.mj_step(self._model, self._data)
        self._at = self._clock()

    def read(self) -> Reading:
        """Simulate until now, and say what the arms' sensors say."""
        now = self._clock()
        step = round(self._model.opt.timestep * 1e9)
        self._at = max(self._at, now - round(BEHIND_S * 1e9))
        while self._at + step <= now:
            mujoco.mj_step(self._model, self._data)
            self._at += step
        data = self._data
        return Reading(
            self._at,
            data.actuator_length[self._actuators].copy(),
            data.actuator_velocity[self._actuators].copy(),
            data.actuator_force[self._actuators].copy(),
            np.array([data.history[arm.force].mean(0) for arm in self._arms]),
        )

    def send(self, setpoint: FloatArray) -> None:
        """Give the position servos their setpoints."""
        self._data.ctrl[self._actuators] = setpoint
        self.log.append(np.array(setpoint))

    def stop(self) -> None:
        """Hold where the arms are; grippers go on holding what they hold."""
        data = self._data
        for arm in self._arms:
            data.ctrl[arm.actuators] = data.actuator_length[arm.actuators]
        self.stops += 1

    def disconnect(self) -> None:
        """Nothing to close."""
