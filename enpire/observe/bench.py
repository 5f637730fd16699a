"""How much of the machine's raw physics speed the closed loop keeps.

Closed loop: stations under a policy with everything a run has: resets, sensing, control, chunk
inference, verification, recording to a run folder with its fsyncs. Raw: `mj_step` in C on as many
threads, with no Python in between, over the same number of steps. What a step costs depends on the
contacts, so raw stepping starts from snapshots of the closed loop's own stations, taken at even
intervals, model variations included, and holds their controls until the next snapshot would come.
Taking them counts as the closed loop's time. The two take turns, so that what else the machine does
meets both alike.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from mujoco.batch import Batch, SimulationError
from numpy.typing import NDArray

from enpire.environment import Job, Readings, Stations
from enpire.errors import EnpireError
from enpire.policies import ChunkPolicy, ChunkSpec, PolicyController
from enpire.rollout.fleet import Fleet
from enpire.rollout.seeds import stream
from enpire.store import EpisodeWriter, Run
from enpire.twin.twin import NUMBER, Rows
from enpire.types import Float32Array, FloatArray, Purpose

SNAPSHOT_PERIODS = 25  # control periods from one snapshot to the next


@dataclass(frozen=True, slots=True)
class TwinBench:
    """What was measured; rates are medians over blocks, and count substeps of all stations.

    fraction_of_c: median of the blocks' own ratios; fraction_range: the least and the largest of
    them. policy_share: of the closed loop's time, spent in the policy. raw_warned: snapshots
    for which MuJoCo warned under held controls; more than a few make the raw figure a poor one.
    """

    fraction_of_c: float
    fraction_range: tuple[float, float]
    closed_loop_steps_per_s: float
    raw_steps_per_s: float
    policy_share: float
    raw_warned: int
    task: str
    stations: int
    threads: int
    blocks: int
    episodes: int
    steps: int

    def as_json(self) -> dict[str, Any]:
        """As plain values."""
        return asdict(self)


@dataclass(slots=True)
class _Timed:
    """A controller with a stop-watch."""

    controller: PolicyController
    seconds: float = 0.0

    def begin(self, row: int, rng: np.random.Generator, exploration: float) -> None:
        """Pass it on."""
        self.controller.begin(row, rng, exploration)

    def act(self, rows: Rows, observations: Float32Array, readings: Readings) -> Float32Array:
        """Pass it on and count the time."""
        began = time.perf_counter()
        actions = self.controller.act(rows, observations, readings)
        self.seconds += time.perf_counter() - began
        return actions


@dataclass(slots=True)
class _Snapshots:
    """Copies of busy stations' states and model variations, taken every few control periods."""

    stations: Stations
    states: list[FloatArray] = field(default_factory=list)
    fields: list[dict[str, NDArray[Any]]] = field(default_factory=list)
    periods: int = 0

    def look(self, robot_s: float) -> None:
        """Called before every control period; a station under way is taken as it set out."""
        self.periods += 1
        if self.periods % SNAPSHOT_PERIODS:
            return
        twin = self.stations.twin
        for row in sorted(set(range(len(self.stations))) - set(self.stations.idle)):
            self.states.append(twin.state[row].copy())
            self.fields.append(twin.variation(row))

    def batch(self) -> Batch:
        """A simulation for each snapshot, on as many threads; the snapshots are used up."""
        twin = self.stations.twin
        batch = Batch(twin.model, len(self.states), twin.threads)
        for name in self.fields[-1]:
            batch.expand(name)[...] = np.stack([values[name] for values in self.fields])
        batch.state[...] = np.stack(self.states)
        self.states.clear()
        self.fields.clear()
        return batch


def bench_twin(
    stations: Stations,
    folder: Path,
    policy: ChunkPolicy | None = None,
    blocks: int = 7,
    block_s: float = 3.0,
    seed: int = 0,
) -> TwinBench:
    """Measure `stations`, recording to a new run at `folder`.

    policy: random small motions if None. blocks: of each side, after one of each that is not
    counted. block_s: least length of a closed-loop block [s].
    """
    task = stations.task
    chosen = policy or random_policy(stations, seed)
    timed = _Timed(PolicyController(chosen, len(stations)))
    jobs = (Job(s, Purpose.EVALUATION, timed, "bench") for s in stream(seed, "bench"))
    snapshots = _Snapshots(stations)
    closed: list[float] = []
    raw: list[float] = []
    shares: list[float] = []
    steps = episodes = warned = 0
    with Run.create(folder, {"bench": task.folder.name}) as run, EpisodeWriter(run) as writer:
        fleet = Fleet(stations, writer, should_stop=snapshots.look)
        running = fleet.run(jobs)
        try:
            for block in range(blocks + 1):
                policy_s, done = timed.seconds, stations.twin.substeps_done
                seconds, count = _closed_loop(running, writer, snapshots, block_s)
                taken = stations.twin.substeps_done - done
                batch = snapshots.batch()
                raw_rate = _raw(batch, taken)
                if block == 0:  # threads, caches and allocators warm up
                    continue
                closed.append(taken / seconds)
                raw.append(raw_rate)
                shares.append((timed.seconds - policy_s) / seconds)
                warned += int(batch.warning[:, :, NUMBER].any(axis=1).sum())
                steps, episodes = steps + taken, episodes + count
        finally:
            running.close()
    ratios = [a / b for a, b in zip(closed, raw, strict=True)]
    return TwinBench(
        fraction_of_c=statistics.median(ratios),
        fraction_range=(min(ratios), max(ratios)),
        closed_loop_steps_per_s=statistics.median(closed),
        raw_steps_per_s=statistics.median(raw),
        policy_share=statistics.median(shares),
        raw_warned=warned,
        task=task.folder.name,
        stations=len(stations),
        threads=stations.twin.threads,
        blocks=blocks,
        episodes=episodes,
        steps=steps,
    )


def _closed_loop(
    running: Iterator[object], writer: EpisodeWriter, snapshots: _Snapshots, least_s: float
) -> tuple[float, int]:
    """Seconds and episodes of a block, until all is still and what it recorded is on the disk."""
    began = time.perf_counter()
    count = 0
    while time.perf_counter() - began < least_s or not snapshots.states:
        next(running)
        count += 1
    snapshots.stations.wait()
    writer.flush()
    return time.perf_counter() - began, count


def _raw(batch: Batch, steps: int) -> float:
    """Steps a second in C, over at least `steps` steps in all."""
    each = -(-steps // batch.nsim)
    began = time.perf_counter()
    try:
        batch.step(nstep=each)
    except SimulationError as error:
        raise EnpireError(f"raw stepping failed ({error}): choose another policy") from error
    seconds = time.perf_counter() - began
    return float(each * batch.nsim / seconds)


def random_policy(stations: Stations, seed: int) -> ChunkPolicy:
    """A policy of the usual size that moves the hands a little and knows nothing."""
    task = stations.task
    torch.manual_seed(seed)
    spec = ChunkSpec(task.folder.name, len(task.observation_names), task.actions.size)
    policy = ChunkPolicy(spec)
    policy.spread.fill_(0.2)
    return policy.eval()
