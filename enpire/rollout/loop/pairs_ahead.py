"""The incumbent's part of a comparison's first pairs, run while the candidate is made."""

from __future__ import annotations

from itertools import islice

from enpire.environment import Job
from enpire.rollout.evaluation.seeds import stream
from enpire.rollout.fleet.fleet import Fleet
from enpire.rollout.fleet.scheduler import Queue
from enpire.rollout.loop.episode_runner import EpisodeRunner
from enpire.rollout.loop.settings import LoopSettings
from enpire.types import Purpose

AHEAD = 20  # pairs whose one half is run ahead: as few decide nearly never


class PairsAhead:
    """The pairs of the next comparison, as far as they are run ahead of it.

    Their number is fixed, so that what is decided does not hang on how long training takes.
    """

    def __init__(self, settings: LoopSettings, fleet: Fleet, runner: EpisodeRunner) -> None:
        self._settings, self._fleet, self._runner = settings, fleet, runner
        self._queue: Queue | None = None

    def begin(self, number: int, incumbent: str) -> None:
        """Have the fleet run them for a round, beside what else there is to do."""
        known = self._runner.known
        controller = known.controller(incumbent)
        pairs = min(AHEAD, self._settings.evaluation.max_pairs or AHEAD)
        seeds = islice(stream(self._settings.seed, "compare", number), pairs)
        jobs = [Job(seed, Purpose.EVALUATION, controller, incumbent, number) for seed in seeds]
        self._queue = self._fleet.beside(known.missing(jobs))

    def run_out(self) -> None:
        """Have those that were begun in the store."""
        if self._queue is not None:
            self._runner.run_out(self._queue)

    def drop(self) -> None:
        """Run no more of them."""
        if self._queue is not None:
            self._fleet.drop(self._queue)
