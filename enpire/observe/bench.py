"""How much of the machine's raw physics speed the closed loop keeps.

Closed loop: stations under a policy with everything a run has: resets, sensing, control, chunk
inference, verification, recording to a run folder with its fsyncs. Raw: `mj_step` in C on as many
threads, with no Python in between. What a step costs depends on the contacts and on how they move,
so the raw side repeats control periods of the closed loop itself, one in `EVERY`, bit by bit: from
the state and with the setpoints and the model variations with which a station was started into it.
Writing these down, and ending the step before, counts as the closed loop's time. The two sides
take turns, so that what else the machine does meets both alike.
"""

from __future__ import annotations

import statistics
import time
from collections import deque
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from mujoco.batch import Batch
from numpy.typing import NDArray

from enpire.environment import Controller, Job, Readings, Stations
from enpire.policies import ChunkPolicy, ChunkSpec, Policy
from enpire.rollout.evaluation.seeds import stream
from enpire.rollout.fleet.fleet import Fleet
from enpire.store import EpisodeWriter, Run
from enpire.twin.twin import Rows
from enpire.types import Float32Array, FloatArray, Purpose

EVERY = 41  # from one that is written down to the next; odd, as stations take turns
STARTS = 200  # the raw side repeats so many, the last ones: few would leave threads idle at its end


@dataclass(frozen=True, slots=True)
class TwinBench:
    """What was measured; rates are medians over blocks, and count substeps of all stations."""

    fraction_of_c: float  # median of the blocks' own ratios
    fraction_range: tuple[float, float]  # the least and the largest of them
    closed_loop_steps_per_s: float
    raw_steps_per_s: float
    policy_share: float  # of the closed loop's time, spent in the policy
    task: str
    stations: int
    threads: int
    blocks: int
    episodes: int
    steps: int

    def as_json(self) -> dict[str, Any]:
        """Return it as plain values."""
        return asdict(self)


class _StopWatch:
    """Counts the time that a controller takes to act."""

    def __init__(self, controller: Controller) -> None:
        self.seconds = 0.0
        self._act = controller.act
        controller.act = self._timed  # type: ignore[method-assign]

    def _timed(self, rows: Rows, observations: Float32Array, readings: Readings) -> Float32Array:
        began = time.perf_counter()
        actions = self._act(rows, observations, readings)
        self.seconds += time.perf_counter() - began
        return actions


class _Launches:
    """Stations as they were started into a control period, every few periods, the last."""

    def __init__(self, stations: Stations) -> None:
        self.twin = stations.twin
        self.starts: deque[tuple[FloatArray, dict[str, NDArray[Any]]]] = deque(maxlen=STARTS)
        self._wait = EVERY  # periods until the next that is written down
        self._advance = stations.advance
        stations.advance = self._watched  # type: ignore[method-assign]

    def _watched(self, row: int, most: int) -> int:
        if self._wait <= 0:
            self._wait += EVERY
            self.starts.append((self.twin.state[row].copy(), self.twin.variation(row)))
        passed = self._advance(row, min(most, self._wait))  # so that a start comes then
        self._wait -= passed
        return passed

    def batch(self) -> Batch:
        """A simulation for each, on as many threads."""
        batch = Batch(self.twin.model, len(self.starts), self.twin.threads)
        for i, (state, fields) in enumerate(self.starts):
            batch.state[i] = state
            for name, values in fields.items():
                batch.expand(name)[i] = values
        return batch


def bench_twin(
    stations: Stations,
    folder: Path,
    policy: Policy | None = None,
    blocks: int = 15,
    block_s: float = 1.4,
    seed: int = 0,
) -> TwinBench:
    """Measure `stations`, recording to a new run at `folder`.

    policy: random small motions if None. blocks: of each side, after one of each that is not
    counted. block_s: least length of a closed-loop block [s].
    """
    task = stations.task
    controller = (policy or random_policy(stations, seed)).controller(stations)
    timed = _StopWatch(controller)
    jobs = (Job(s, Purpose.EVALUATION, controller, "bench") for s in stream(seed, "bench"))
    launches = _Launches(stations)
    closed: list[float] = []
    raw: list[float] = []
    shares: list[float] = []
    steps = episodes = 0
    with Run.create(folder, {"bench": task.name}) as run, EpisodeWriter(run) as writer:
        running = Fleet(stations, writer).run(jobs)
        try:
            for block in range(blocks + 1):
                policy_s, done = timed.seconds, stations.twin.substeps_done
                if block == 0:  # threads, caches and allocators warm up
                    while len(launches.starts) < STARTS:
                        next(running)
                seconds, count = _closed_loop(running, stations, writer, block_s)
                taken = stations.twin.substeps_done - done
                raw_rate = _raw(launches.batch(), stations.substeps, taken)
                if block == 0:
                    continue
                closed.append(taken / seconds)
                raw.append(raw_rate)
                shares.append((timed.seconds - policy_s) / seconds)
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
        task=task.name,
        stations=len(stations),
        threads=stations.twin.threads,
        blocks=blocks,
        episodes=episodes,
        steps=steps,
    )


def _closed_loop(
    running: Iterator[object], stations: Stations, writer: EpisodeWriter, least_s: float
) -> tuple[float, int]:
    """Seconds and episodes of a block, until all is still and what it recorded is on the disk."""
    began = time.perf_counter()
    count = 0
    while time.perf_counter() - began < least_s:
        next(running)
        count += 1
    stations.wait()
    writer.flush()
    return time.perf_counter() - began, count


def _raw(batch: Batch, substeps: int, steps: int) -> float:
    """Steps a second in C, over at least `steps` steps in all, `substeps` from every start."""
    starts = batch.state.copy()
    each = batch.nsim * substeps
    times = -(-steps // each)
    seconds = 0.0
    for _ in range(times):
        batch.state[...] = starts
        began = time.perf_counter()
        batch.step(nstep=substeps)
        seconds += time.perf_counter() - began
    return float(times * each / seconds)


def random_policy(stations: Stations, seed: int) -> ChunkPolicy:
    """A policy of the usual size that moves the hands a little and knows nothing."""
    task = stations.task
    torch.manual_seed(seed)
    spec = ChunkSpec(task.name, len(task.observation_names), task.policy_actions.size)
    policy = ChunkPolicy(spec)
    policy.spread.fill_(0.2)
    return policy.eval()
