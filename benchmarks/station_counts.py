"""What an episode costs as stations become many: the same episodes, on fleets of several sizes.

A turn of a fleet has it run all episodes, each recorded in a new run, under a policy of random
small motions. So what differs is only how many stations share them.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benchmarks.turns import Side, TurnRatio, Turns, take_turns
from enpire.environment import Job, build_stations
from enpire.observe.bench import random_policy
from enpire.rollout.fleet.fleet import Fleet
from enpire.store import EpisodeWriter, Run
from enpire.types import Purpose

SIZES = 1, 4, 16, 64, 256
EPISODES = 512  # two for each station of the largest fleet


@dataclass(frozen=True, slots=True)
class StationCounts:
    """What fleets took, by the number of their stations, over the same episodes."""

    task: str
    episodes: int
    turns: dict[int, Turns]

    def rate(self, size: int) -> float:
        """The episodes of a processor second, in the median turn."""
        return self.episodes / self.turns[size].processor_s

    def ratio(self, size: int) -> TurnRatio:
        """How many times as many episodes of a processor second as the smallest fleet has."""
        return TurnRatio.of(self.turns[min(self.turns)].processor, self.turns[size].processor)

    def as_json(self) -> dict[str, Any]:
        """As plain values."""
        return asdict(self)


def bench_station_counts(
    task: str,
    folder: Path,
    sizes: Sequence[int] = SIZES,
    episodes: int = EPISODES,
    blocks: int = 3,
    seed: int = 0,
) -> StationCounts:
    """Measure fleets of these sizes, recording under `folder`; blocks: turns of each."""
    sides: dict[str, Side] = {
        str(size): FleetTurns(task, size, episodes, seed, folder).go_on for size in sizes
    }
    turns = take_turns(sides, blocks, warm=0)
    return StationCounts(task, episodes, {size: turns[str(size)] for size in sizes})


class FleetTurns:
    """A fleet that runs the same episodes in each of its turns."""

    def __init__(self, task: str, size: int, episodes: int, seed: int, folder: Path) -> None:
        """Make its stations; episode i has the seed `seed` + i."""
        self._stations = build_stations(task, size)
        controller = random_policy(self._stations, seed).controller(self._stations)
        self._jobs = [
            Job(number, Purpose.EVALUATION, controller, "bench")
            for number in range(seed, seed + episodes)
        ]
        self._runs = (folder / f"{size}-{turn}" for turn in itertools.count())

    def go_on(self) -> None:
        """Run all episodes into a new run."""
        with Run.create(next(self._runs), {"bench": "stations"}) as run, EpisodeWriter(run) as to:
            for _ in Fleet(self._stations, to).run(self._jobs):
                pass


def table(counts: StationCounts) -> str:
    """Return a table for a person."""
    lines = [
        "| stations | episodes a processor second | as many as the smallest fleet | clock |",
        "|---|---|---|---|",
    ]
    for size, turns in counts.turns.items():
        lines.append(
            f"| {size} | {counts.rate(size):.1f} | {counts.ratio(size)} times | "
            f"{turns.wall_s:.1f} s |"
        )
    return "\n".join(lines)
