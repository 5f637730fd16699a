"""How a step of the loop comes by its episodes: the store has them, or the fleet runs them."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator

from enpire.environment import Job
from enpire.errors import RecipeError
from enpire.rollout.fleet.fleet import Fleet
from enpire.rollout.fleet.scheduler import Queue
from enpire.rollout.loop.episode_cache import EpisodeCache
from enpire.rollout.loop.state import LoopState
from enpire.types import Episode


class EpisodeRunner:
    """Runs what a step asks for, and counts in the loop's state what is done.

    Attributes:
        known: the episodes of the run; what is run is added.
        state: where the loop is.
    """

    def __init__(self, fleet: Fleet, known: EpisodeCache, state: LoopState) -> None:
        self.known, self.state = known, state
        self._fleet = fleet

    def run_out(self, queue: Queue) -> None:
        """Have all of a queue's episodes in the store."""
        with contextlib.closing(self._fleet.run_out(queue)) as running:
            for episode in running:
                self.known.add(episode)
                self.state.done += 1

    def run(self, jobs: Iterable[Job | None]) -> None:
        """Have the episodes of `jobs` in the store."""
        for done, _ in enumerate(self.stream(iter(jobs)), 1):
            self.state.done = done

    def stream(self, jobs: Iterator[Job | None]) -> Iterator[Episode]:
        """Yield the episodes of `jobs`: those in the store at once, the others from the fleet.

        What is done beside them goes to the store only.
        """
        known: list[Episode] = []
        asked: set[str] = set()

        def missing() -> Iterator[Job | None]:
            for job in jobs:
                earlier = self.known.episodes.get(job.id) if job else None
                if earlier is None:
                    if job:
                        asked.add(job.id)
                    yield job
                else:
                    known.append(earlier)

        with contextlib.closing(self._fleet.run(missing())) as running:
            for episode in running:
                while known:
                    yield known.pop(0)
                self.known.add(episode)
                if episode.id in asked:
                    yield episode
        yield from known

    def wait[T](self, look: Callable[[], T | None]) -> T:
        """What `look` finds in the end, while stations go on with what there is to do.

        Raises:
            RecipeError: `look` raised it; what was collected meanwhile is in the store.
        """
        found: list[T | RecipeError] = []

        def until_found() -> Iterator[Job | None]:
            while not found:
                try:
                    result = look()
                except RecipeError as error:  # what is collected meanwhile goes on
                    found.append(error)
                    return
                if result is None:
                    yield None
                else:
                    found.append(result)

        self.run(until_found())
        (result,) = found
        if isinstance(result, RecipeError):
            raise result
        return result
