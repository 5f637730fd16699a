"""Running episodes under observers that may look at the twin itself."""

from __future__ import annotations

from collections.abc import Iterable

from enpire.environment import Job, Stations
from enpire.errors import PackError
from enpire.types import Episode


class Observer:
    """Looks on and changes nothing; a subclass says at what."""

    def begun(self, stations: Stations, row: int, job: Job) -> None:
        """A scene was placed; its reset begins."""

    def period(self, stations: Stations) -> None:
        """A control period is over, its physics too."""

    def ended(self, stations: Stations, episode: Episode) -> None:
        """Judged; the twin's row stands as it was then."""


def run(stations: Stations, jobs: Iterable[Job], *observers: Observer) -> list[Episode]:
    """Run all jobs, a free station at a time; their episodes in the order of the jobs.

    Raises:
        PackError: the task's own code has failed, and no observer took the station back.
    """
    waiting = iter(jobs)
    order: list[str] = []
    done: dict[str, Episode] = {}
    while True:
        for row in stations.idle:
            job = next(waiting, None)
            if job is None:
                break
            stations.begin(row, job)
            order.append(job.id)
            for observer in observers:
                observer.begun(stations, row, job)
        if not stations.busy:
            return [done[job] for job in order]
        ended = stations.tick()
        stations.wait()
        for observer in observers:
            observer.period(stations)
            for episode in ended:
                observer.ended(stations, episode)
        if stations.aside:
            raise PackError(next(iter(stations.aside.values())))
        done.update((episode.id, episode) for episode in ended)
