"""Stations of a task beside Gymnasium's vector environments of a plain single one.

All have the same scene, control, observation and actions, from the same states on, and give the
same observations (a test holds that). `ours` is the closed loop: stations that go through their
periods under a controller. `TaskVectorEnv` is the same behind Gymnasium's interface, in lock-step.
`Sync` and `Async` are Gymnasium's own over `PlainEnv`, which neither verifies nor records. A turn
is some control periods of the same episode, so nobody resets in it. With pictures, the plain
environment renders them after every step, as one would write it. Stations render them where a
policy looks, which is every fourth period; `TaskVectorEnv` observes none, and is left out.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from gymnasium.vector import AsyncVectorEnv, SyncVectorEnv

from benchmarks.plain_env import Beginning, PlainEnv
from benchmarks.turns import OURS, Comparison, Side, compare
from enpire.environment import Job, Readings, Stations, build_stations
from enpire.errors import UsageError
from enpire.gymnasium.environment import TaskVectorEnv
from enpire.twin.twin import Rows
from enpire.types import Float32Array, Image, Purpose

MOTION = 0.1  # standard deviation of actions: nothing is done, so that no episode ends early
TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class VectorBench:
    """What was measured. periods: of control, of a turn, at each of the stations.

    images: size of the pictures that were taken [px]; 0: none.
    """

    compared: Comparison
    task: str
    stations: int
    threads: int
    periods: int
    blocks: int
    images: int

    def as_json(self) -> dict[str, Any]:
        """As plain values."""
        return asdict(self)


def bench_vector(
    task: str, count: int = 4, blocks: int = 5, seed: int = 0, images: int = 0
) -> VectorBench:
    """Measure `count` stations of the task, with pictures of `images` [px], or without any at 0.

    Raises:
        UsageError: an episode is too short for so many turns.
        NoGraphics: pictures are asked for where nothing can be rendered.
    """
    stations = build_stations(task, count, images=images)
    periods = (stations.execute_periods - 1) // (blocks + 2)  # some station may be ahead of others
    if periods < 1:
        raise UsageError(f"{task} has {stations.execute_periods} periods: fewer --turns")
    shape = stations.execute_periods, count, stations.task.actions.size
    drawn = MOTION * np.random.default_rng(seed).standard_normal(shape)
    actions = drawn.clip(-1, 1).astype(np.float32)
    with ExitStack() as open_envs:
        closed = ClosedLoop(stations, actions, seed)
        lockstep = TaskVectorEnv(task, count)
        open_envs.callback(lockstep.close)
        first, _ = lockstep.reset(seed=seed)
        begun = beginnings(lockstep, first)
        plain = [partial(PlainEnv, task, each, images) for each in begun]
        sync = SyncVectorEnv(plain)
        open_envs.callback(sync.close)
        processes = AsyncVectorEnv(plain, context="spawn")
        open_envs.callback(processes.close)
        sides: dict[str, Side] = {OURS: partial(closed.go_on, periods)}
        others = [("Sync", sync), ("Async", processes)]
        for _, envs in others:
            envs.reset()
        for name, envs in others if images else [("TaskVectorEnv", lockstep), *others]:
            sides[name] = Steps(envs, actions, periods).go_on
        own = [process.pid for process in processes.processes if process.pid is not None]
        clock = partial(processor_time, own)
        seen = f", pictures of {images} px" if images else ""
        compared = compare(
            f"{task}, {count} stations{seen}, a turn", sides, blocks, processor=clock
        )
        stations.abort("measured")
    return VectorBench(compared, task, count, stations.twin.threads, periods, blocks, images)


class ClosedLoop:
    """Stations under way, whose controller does what it is told beforehand."""

    def __init__(self, stations: Stations, actions: Float32Array, seed: int) -> None:
        """Reset all; station i has the seed `seed` + i. actions: (periods, stations, act)."""
        self.stations, self.actions = stations, actions
        self.at = np.zeros(len(stations), np.int64)  # periods that each has acted in
        self.looks = 0  # pictures that were taken, of all stations
        self.seen: list[list[Float32Array]] = [[] for _ in range(len(stations))]
        for row in range(len(stations)):
            stations.begin(row, Job(seed + row, Purpose.COLLECTION, self, "told"))
        while not self.at.all():
            stations.tick()

    def begin(self, row: int, rng: np.random.Generator, exploration: float) -> None:
        """Nothing to forget."""

    def act(self, rows: Rows, observations: Float32Array, readings: Readings) -> Float32Array:
        """What was told, of the period that each is in."""
        for row, observation in zip(rows.tolist(), observations, strict=True):
            self.seen[row].append(observation)
        chosen: Float32Array = self.actions[self.at[rows], rows]
        self.at[rows] += 1
        return chosen

    def look(self, row: int, pictures: Image) -> None:
        """Count what is shown."""
        self.looks += 1

    def due(self, row: int) -> bool:
        """Never: it does not decide by pictures."""
        return False

    def go_on(self, periods: int) -> None:
        """Carry out some control periods at all stations, of which some may wait for a picture."""
        done = self.at.sum() + periods * len(self.stations)
        while self.at.sum() < done:
            self.stations.tick()
        self.stations.wait()


class Steps:
    """A vector environment that goes on with its actions."""

    def __init__(self, envs: Any, actions: Float32Array, periods: int) -> None:
        """envs: after their reset. periods: of a turn."""
        self.envs, self.actions, self.periods, self.at = envs, actions, periods, 0

    def go_on(self) -> None:
        """Carry out a turn."""
        for _ in range(self.periods):
            self.envs.step(self.actions[self.at])
            self.at += 1


def beginnings(envs: TaskVectorEnv, first: Float32Array) -> list[Beginning]:
    """Where each station of an environment that was just reset begins; first: its observations."""
    return [Beginning.of(envs.stations, row, seen) for row, seen in enumerate(first)]


def processor_time(others: Sequence[int]) -> float:
    """Return the processor time of this process and of others, by their numbers [s]."""
    total = time.process_time()
    for pid in others:
        after_name = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        total += (int(after_name[11]) + int(after_name[12])) / TICKS
    return total
