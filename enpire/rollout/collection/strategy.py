"""Where a round's episodes are spent: which initial conditions, and until when.

Of collection only. Evaluation is on uniform seeds and runs to its end, always. What is decided
follows from a round's seeds and the episodes of earlier rounds, so that a round that was cut short
asks for the same jobs again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

from enpire.environment import Job, StationBackend, Tasked, initial_condition
from enpire.errors import UsageError
from enpire.improvement.collection import first, meanwhile
from enpire.rollout.collection.allocation import allocated, strata
from enpire.rollout.collection.early_stop import EarlyStop, EarlyStopTally, learn_abort, let_run
from enpire.rollout.collection.failure_replay import VARIANTS, hard_cases, mixed
from enpire.types import Episode


@dataclass(frozen=True, slots=True)
class CollectionStrategy:
    """What is asked for, by the settings of a loop.

    allocate: choose initial conditions whose outcome is in doubt. abort: end hopeless episodes.
    hard: share of episodes that begin where the incumbent has failed.
    """

    allocate: bool = False
    abort: bool = False
    hard: float = 0.0

    def require(self, stations: StationBackend) -> None:
        """Raise UsageError where these stations do not say what it takes."""
        asked = [name for name in ("allocate", "abort") if getattr(self, name)]
        if asked and not isinstance(stations, Tasked):
            raise UsageError(
                f"--{asked[0]} needs initial conditions and a time limit that are known before an "
                f"episode is run, and those of {stations.name} are not: leave it out"
            )


@dataclass(slots=True)
class Round:
    """One round's choices.

    base, parent: the policy that collects, and the one that it was made from, by name. episodes: of
    earlier rounds. seed: of everything random in the choices. physical: skills put scenes back.
    """

    collection_strategy: CollectionStrategy
    stations: StationBackend
    number: int
    base: str
    parent: str
    episodes: Sequence[Episode]
    seed: int
    physical: bool = False
    _again: set[int] = field(default_factory=set)
    _judged: set[str] = field(default_factory=set)  # ids of jobs that were ended early, or let run
    _abort: EarlyStop | None = None

    def seeds(self, fresh: Iterator[int]) -> Iterator[int]:
        """The seeds to begin episodes from, of a stream of fresh ones."""
        known = self.episodes, self.base, self.parent
        if self.collection_strategy.allocate and isinstance(self.stations, Tasked):
            look = partial(initial_condition, self.stations.task, physical=self.physical)
            tree = strata(self.episodes, look, self.base, self.parent)
            fresh = allocated(fresh, look, tree, np.random.default_rng((self.seed, 1)))
        if self.collection_strategy.hard:
            hard = hard_cases(*known)
            self._again.update(hard)
            fresh = mixed(
                fresh, hard, self.collection_strategy.hard, np.random.default_rng((self.seed, 2))
            )
        return fresh

    def jobs(self, jobs: Iterator[Job | None]) -> Iterator[Job | None]:
        """A recipe's jobs, with hard cases as new variants; some may be ended early.

        The first ones are let run, while what ends episodes is learned.
        """
        jobs = (job and self._varied(job) for job in jobs)
        stations = self.stations
        if not self.collection_strategy.abort or not isinstance(stations, Tasked):
            yield from jobs
            return
        periods = stations.execute_periods
        let = first(jobs, 2 * len(self.stations))
        self._abort = yield from meanwhile(
            let, lambda: learn_abort(self.episodes, periods, self.seed)
        )
        for job in jobs:
            if job is None or self._abort is None or not self._acts_as_in_evaluation(job):
                yield job
                continue
            self._judged.add(job.id)
            yield job if let_run(job.seed) else replace(job, give_up=self._abort)

    def tally(self, episodes: Iterable[Episode]) -> EarlyStopTally | None:
        """What early ends came to, among the episodes that are done; None: nothing says when."""
        if self._abort is None:
            return None
        return EarlyStopTally.of(self._abort, (e for e in episodes if e.id in self._judged))

    def _varied(self, job: Job) -> Job:
        again = job.seed in self._again and not job.variant
        return replace(job, variant=VARIANTS + self.number) if again else job

    def _acts_as_in_evaluation(self, job: Job) -> bool:
        """Whether the policy acts as it would in an evaluation, but for its exploration."""
        helped = job.overtime or job.attempts > 1 or job.forked
        return job.policy == self.base and not helped
