"""Whether a seed fixes an episode: again, among others, on more threads."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from enpire.certification.episodes import Observer, run
from enpire.certification.row import CheckRow
from enpire.environment import Demonstrations, Job, Stations
from enpire.types import Episode, Purpose

Build = Callable[[int, int], Stations]  # from a number of stations and one of threads
MANY = 8  # stations


@dataclass(slots=True)
class _Placed(Observer):
    """Keeps every scene as it was placed, bit by bit."""

    scenes: dict[str, list[bytes]]

    def begun(self, stations: Stations, row: int, job: Job) -> None:
        twin = stations.twin
        fields = twin.variation(row)
        parts = [twin.state[row], *(fields[name] for name in sorted(fields))]
        self.scenes[job.id] = [np.ascontiguousarray(part).tobytes() for part in parts]


def rows(build: Build, seeds: list[int]) -> list[CheckRow]:
    """The same demonstrations four times over, each held against the first."""
    alone = build(1, 1)
    first = _demonstrate(alone, seeds)
    ways = {
        "again on the same station": alone,
        f"on {MANY} stations": build(MANY, 1),
        f"on {MANY} stations, 2 threads": build(MANY, 2),
    }
    placed = judged = 0
    different: list[str] = []
    for way, stations in ways.items():
        for (scene, episode), (other, repeated) in zip(
            first, _demonstrate(stations, seeds), strict=True
        ):
            same_scene, same = scene == other, _content(episode) == _content(repeated)
            placed, judged = placed + same_scene, judged + same
            if not (same_scene and same):
                different.append(f"seed {episode.seed} {way}")
    trials, detail = len(ways) * len(seeds), different[0] if different else ""
    bar = "all: again, 1 and 8 stations, 1 and 2 threads"
    return [
        CheckRow(
            "same start",
            "scenes placed the same to the bit",
            placed,
            trials,
            bar,
            placed == trials,
            detail,
        ),
        CheckRow(
            "same verdict",
            "verdicts the same to the bit",
            judged,
            trials,
            bar,
            judged == trials,
            detail,
        ),
    ]


def _demonstrate(stations: Stations, seeds: list[int]) -> list[tuple[list[bytes], Episode]]:
    controller = Demonstrations(stations.task)
    jobs = [Job(seed, Purpose.DEMONSTRATION, controller, "repeat") for seed in seeds]
    placed = _Placed({})
    episodes = run(stations, jobs, placed)
    return [(placed.scenes[e.id], e) for e in episodes]


def _content(episode: Episode) -> tuple[str, int, bytes]:
    """The verdict with every measure, how long it took, and all that was seen and done."""
    seen = episode.observations.tobytes() + episode.actions.tobytes()
    return repr(episode.verdict), len(episode), seen
