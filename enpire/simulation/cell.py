"""One simulated station: arms, objects, tracker and fixture, as late as it is on the clock."""

from __future__ import annotations

from collections import deque
from dataclasses import replace

import numpy as np

from enpire.drivers import Reading
from enpire.drivers.driver import Clock
from enpire.drivers.wire import Objects
from enpire.environment import CartesianControl, Task
from enpire.environment.control.sensing import Sensors
from enpire.environment.core.answers import drawn_of
from enpire.errors import ResetFailed, SafetyError
from enpire.packs import Robot, World
from enpire.twin import Twin, compose
from enpire.types import FloatArray

EFFORT_S = 0.01  # over which a servo filters the torque that it tells
BEHIND_S = 0.1  # simulated at once at most: a machine that is too slow has a slower world
NOISE_S = 60.0  # after which the same white noise comes again
PLACE_TRIES = 20  # initial conditions that may fail to settle, at the start


class SimulatedCell:
    """A task's scene. What it is sent moves its servos at once; it is read as an arm is read.

    stopped: somebody has pressed its emergency stop; setpoints move nothing until it is released.
    failed: why the last scene did not settle.
    """

    def __init__(self, task: Task, world: World, robot: Robot, seed: int, clock: Clock) -> None:
        """Set up with an initial condition of `seed`'s; raises PackError if it does not compile."""
        self.task, self._clock = task, clock
        self._rng = np.random.default_rng(seed)
        scene = compose(world, robot, task.build)
        self.twin = Twin(scene, 1, threads=1)
        self.period = 1.0 / task.control_hz
        self._control = CartesianControl(
            self.twin, task.actions, self.period, task.reset_actions, task.reset_stretch
        )
        periods = round(NOISE_S / self.period)
        noise = replace(task.noise, latency=0.0)  # who asks is late by the clock on the wall
        self._sensors = Sensors(self._control, task.tracked, noise, periods)
        self._timestep = round(scene.model.opt.timestep * 1e9)
        self._substeps = round(self.period * 1e9 / self._timestep)
        self._actuators = np.array([[*a.actuators, a.gripper] for a in scene.arms]).ravel()
        self._joints = np.array([a.actuators for a in scene.arms]).ravel()
        self._force = np.array([a.force for a in scene.arms])
        self._length = self.twin.actuator_length
        self._speed = self.twin.bind("actuator_velocity")
        self._effort = self.twin.bind("actuator_force")
        self._efforts: deque[FloatArray] = deque(maxlen=round(EFFORT_S * 1e9 / self._timestep))
        self._after_step = type(task).after_step is not Task.after_step
        self.measured, self._steps = clock(), 0
        self._settling: int | None = None  # since when [steps], while a scene settles
        self._on: tuple[str, ...] = ()
        self.stopped = False
        self.failed = ""
        task.after_compile(self.twin)
        self._begin()

    @property
    def placed(self) -> bool:
        """Whether the scene has settled."""
        return self._settling is None

    def advance(self) -> None:
        """Simulate until now."""
        now = self._clock()
        self.measured = max(self.measured, now - round(BEHIND_S * 1e9))
        while self.measured + self._timestep <= now:
            steps = (now - self.measured) // self._timestep
            due = min(steps, self._substeps - self._steps % self._substeps)
            for _ in range(due):
                self.twin.advance(0, 1)
                self._efforts.append(self._effort[0, self._actuators].copy())
            if self.twin.diverged([0]):
                self._begin()  # diverged: a person sets it up again
            self.measured += int(due) * self._timestep
            self._steps += int(due)
            if self._steps % self._substeps == 0:
                self._period_over()

    def send(self, setpoint: FloatArray) -> None:
        """Give the servos their setpoints, (axes,)."""
        if not self.stopped and self.placed:
            self.twin.ctrl[0, self._actuators] = setpoint

    def stop(self) -> None:
        """Hold where the arms are; grippers go on holding what they hold."""
        if self.placed:
            self.twin.ctrl[0, self._joints] = self._length[0, self._joints]

    def emergency(self, pressed: bool) -> None:
        """Press the emergency stop, or release it."""
        if pressed:
            self.stop()
        self.stopped = pressed

    def reading(self) -> Reading:
        """What the arms' sensors say."""
        actuators = self._actuators
        position = self._length[0, actuators] + self._rng.normal(
            0.0, self.task.noise.joint, len(actuators)
        )
        force = self.twin.history[0, self._force].mean(1)
        force = force + self._rng.normal(0.0, self.task.noise.force, force.shape)
        return Reading(
            self.measured,
            position,
            self._speed[0, actuators].copy(),
            np.mean(self._efforts, axis=0) if self._efforts else self._effort[0, actuators].copy(),
            force,
        )

    def objects(self) -> Objects:
        """What the tracker sees, with its noise."""
        at = self._steps // self._substeps % self._sensors.periods
        readings, _ = self._sensors.read(np.zeros(1, np.int64), [at])
        return Objects(self.measured, readings.position[0], readings.rotation[0])

    def operate(self, on: tuple[str, ...]) -> None:
        """Have the fixture's outputs `on` from now on."""
        self._on = on

    def randomize_physics(self, variation: FloatArray) -> None:
        """What no robot brings about of an initial condition; the tracker's bias is another."""
        self.task.randomize_physics(self.twin, 0, self._checked(variation))
        self._sensors.draw(0, self._rng)

    def set_initial_state(self, variation: FloatArray) -> None:
        """Put the scene into an initial condition; see `placed`."""
        self._on = ()
        self.twin.reset(0)
        self.randomize_physics(variation)
        self.task.set_initial_state(self.twin, self._control, 0, self._checked(variation))
        self.twin.forward(0)
        self._settling = self._steps

    def _begin(self) -> None:
        """Set the station up as somebody would: until a scene settles."""
        for _ in range(PLACE_TRIES):
            self.set_initial_state(drawn_of(self.task, self._rng))
            while not self.placed:
                self.twin.advance(0, self._substeps)
                self._steps += self._substeps
                if self.twin.diverged([0]):
                    break
                self._period_over()
            if self.placed and not self.failed:
                return
        raise ResetFailed(f"{self.task.name}: no scene settles: {self.failed}")

    def _period_over(self) -> None:
        """What is looked at once in a control period."""
        if self._after_step:
            self.task.after_step(self.twin, 0)
        if self._settling is not None:
            elapsed = (self._steps - self._settling) * self._timestep * 1e-9
            try:
                self.failed = ""
                if not self.task.settle(self.twin, self._control, 0, elapsed):
                    self._settling = None
                elif elapsed > self.task.settle_limit:
                    raise ResetFailed(f"not settled after {elapsed:.1f} s")
            except ResetFailed as error:
                self.failed, self._settling = str(error), None
            return
        try:
            self.task.operate(self.twin, 0, self._on)
        except ResetFailed:  # a hand is in its way: it waits
            self._on = ()

    def _checked(self, variation: FloatArray) -> FloatArray:
        if variation.shape != (len(self.task.variation_names),) or not np.isfinite(variation).all():
            raise SafetyError(
                f"{self.task.name} varies {len(self.task.variation_names)} finite numbers, "
                f"found {variation.tolist()}"
            )
        return variation
