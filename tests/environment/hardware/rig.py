"""A station with arms but for its processes: a simulated cell, with a clock moved by hand."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from enpire.drivers.wire import Fault, Objects
from enpire.environment import Job, load_task
from enpire.environment.hardware.cell import StationStop
from enpire.environment.hardware.stations import HardwareStations
from enpire.errors import SafetyError
from enpire.packs import find, load_robot, load_world
from enpire.safety.machine import Mode
from enpire.safety.messages import SupervisorStatus
from enpire.safety.recoveries import MOST
from enpire.safety.rules import GateRule
from enpire.simulation.cell import SimulatedCell
from enpire.types import Episode, FloatArray, Purpose

PERIOD = 0.04


class Wire:
    """The wire of a cell in this process."""

    simulated = True

    def __init__(self, cell: SimulatedCell) -> None:
        self._cell = cell
        self.told: list[Fault] = []
        self.varied = 0

    def objects(self) -> Objects:
        return self._cell.objects()

    def operate(self, on: tuple[str, ...]) -> None:
        self._cell.operate(on)

    def faults(self) -> list[Fault]:
        told, self.told = self.told, []
        return told

    def set_initial_state(self, variation: FloatArray) -> None:
        self._cell.set_initial_state(variation)

    def randomize_physics(self, variation: FloatArray) -> None:
        self.varied += 1
        self._cell.randomize_physics(variation)

    @property
    def placed(self) -> bool:
        return self._cell.placed

    def close(self) -> None:
        pass


class Bench:
    """What `HardwareCell` is to stations, with no supervisor; `stops` says what goes wrong when.

    stops: by control period, from the cell's first on.
    """

    def __init__(
        self, task: str, seed: int = 0, stops: dict[int, StationStop] | None = None
    ) -> None:
        self.now = 10**12
        loaded = load_task(find("tasks", task))
        world, robot = find("sim", loaded.world), find("robots", loaded.robot)
        self.cell = SimulatedCell(
            loaded, load_world(world), load_robot(robot), seed, lambda: self.now
        )
        self.wire = Wire(self.cell)
        self.client = self
        self.stop: StationStop | None = None
        self.new_events: list[tuple[int, str]] = []
        self.stops = stops or {}
        self.periods = self.begun = self.recovered = 0
        self.refuses = ""
        self.moved_while_stopped = 0
        self._armed = False
        self._sent = self._measured()

    def begin(self) -> None:
        self.begun += 1
        self.again()
        self.recovered = 0

    def again(self) -> None:
        self.recovered += self.stop is not None
        self.stop, self._armed = None, False

    def ready(self) -> bool:
        if self.refuses or self.recovered > MOST:
            raise SafetyError(self.refuses or "stopped again after 3 recoveries")
        if not self._armed:
            self.cell.stop()
            self._sent = self._measured()
        self._armed = True
        return True

    def disarmed(self) -> bool:
        self._armed = False
        return True

    def send_setpoint(
        self, setpoint: FloatArray, show: Callable[[SupervisorStatus, Objects | None], None]
    ) -> None:
        if self._armed and self.stop is None:
            self.cell.send(setpoint)
            self._sent = setpoint
        self.periods += 1
        self.now += round(PERIOD * 1e9)
        self.cell.advance()
        if self.periods in self.stops:
            self.stop, self._armed = self.stops[self.periods], False
            self.new_events.append((self.now, self.stop.reason))
            self.cell.stop()
        show(self.status(), self.wire.objects())

    def status(self) -> SupervisorStatus:
        reading = self.cell.reading()
        return SupervisorStatus(
            self.now,
            self.now,
            1,
            Mode.ARMED,
            GateRule.NONE,
            0,
            -1,
            0,
            reading.position,
            reading.velocity,
            self._sent,
            reading.force,
            reading.stamp,
        )

    def close(self) -> None:
        pass

    def _measured(self) -> FloatArray:
        return np.array(self.cell.reading().position)


def stations(*benches: Bench) -> HardwareStations:
    task = benches[0].cell.task
    world, robot = find("sim", task.world), find("robots", task.robot)
    return HardwareStations(task, load_world(world), load_robot(robot), benches)


def episode(cells: HardwareStations, seed: int, row: int = 0, limit: int = 5000) -> Episode:
    """One, of the task's demonstrator."""
    name, controller = cells.starter
    cells.begin(row, Job(seed, Purpose.DEMONSTRATION, controller, name))
    for _ in range(limit):
        for ended in cells.tick():
            return ended
    raise AssertionError("it does not end")
