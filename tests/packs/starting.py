"""An episode on one station: begun, watched, ended."""

from __future__ import annotations

import numpy as np

from enpire.environment import Controller, Demonstrations, Job, Readings, Stations
from enpire.environment.stations.episode_state import StationPhase
from enpire.types import Episode, Float32Array, FloatArray, Purpose


def begin(stations: Stations, seed: int, controller: Controller) -> None:
    """Until it executes."""
    stations.begin(0, Job(seed, Purpose.DEMONSTRATION, controller, "d"))
    while stations.phase(0) is not StationPhase.EXECUTE:
        stations.tick()
    stations.wait()


def finish(stations: Stations) -> Episode:
    """Until it has ended."""
    done: list[Episode] = []
    while stations.busy:
        done += stations.tick()
    stations.wait()
    return done[0]


def wait(stations: Stations, periods: int) -> None:
    """So long."""
    for _ in range(periods):
        stations.tick()
    stations.wait()


def welds(stations: Stations) -> FloatArray:
    """Of the reset: 1 for each that is in force."""
    model = stations.twin.model
    ids = [i for i in range(model.neq) if model.equality(i).name.startswith("reset_")]
    return stations.twin.eq_active[0, ids].copy()


class Watching(Demonstrations):
    """Demonstrates, and looks at the reset's welds, and how hard wrists feel what they hold."""

    def __init__(self, stations: Stations) -> None:
        super().__init__(stations.task)
        self.stations = stations
        self.welded: list[bool] = []
        self.felt: list[float] = []

    def act(self, rows: np.ndarray, observations: np.ndarray, readings: Readings) -> Float32Array:
        self.welded.append(bool(welds(self.stations).any()))
        self.felt.append(float(np.linalg.norm(readings.wrist_force, axis=-1).max()))
        return super().act(rows, observations, readings)
