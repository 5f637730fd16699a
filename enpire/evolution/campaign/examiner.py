"""Measures a campaign's incumbents again, and has those examined that look good enough."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator

from enpire.environment import Job
from enpire.evolution.campaign.event_log import EventLog
from enpire.evolution.experiments import unbiased_estimate
from enpire.rollout.evaluation.sealed import Sealed
from enpire.rollout.loop.episode_cache import EpisodeCache
from enpire.rollout.loop.settings import LoopSettings
from enpire.rollout.loop.state import LoopState
from enpire.store.ledger import Ledger
from enpire.types import Purpose

EXAMINING = 4.0  # share of robot time of a sealed evaluation, an experiment's being 1.0

Life = Generator[None]  # what is under way: goes on when it is asked, until it has to wait again


class Examiner:
    """The sealed evaluations of one campaign. busy: whether it waits for something."""

    def __init__(
        self,
        settings: LoopSettings,
        ledger: Ledger,
        books: EventLog,
        cache: EpisodeCache,
        state: LoopState,
        run_out: Callable[[Iterator[Job | None], float], Life],
    ) -> None:
        """run_out: has jobs run, at a share of robot time."""
        self.busy = False
        self._settings, self._books, self._known, self._state = settings, books, cache, state
        goal = settings.evaluation
        self._sealed = Sealed(ledger, goal.target, goal.sealed_episodes, goal.target_bound)
        self._ledger, self._run_out = ledger, run_out

    def recall(self) -> None:
        """Take note of the examinations that are over already."""
        for row in self._ledger.sealed():
            self._state.take(row, self._sealed.passed(row))

    def life(self) -> Life:
        """Look at the incumbent on fresh seeds, and examine who looks good enough; for ever."""
        looked, record = -1, self._books.record
        while True:
            if looked == len(record.decided):
                self.busy = False
                yield
                continue
            self.busy = True
            looked = len(record.decided)
            name = self._sealed.under_way
            if not name:
                if not self._checked(record.incumbent):
                    incumbent = record.incumbent
                    yield from self._run_out(self._check(incumbent), 1.0)
                    self._books.close_rounds()
                    self._state.success = self._books.fresh(incumbent)
                name = self._looks_good()
            if name:
                yield from self._examine(name)
                looked = -1

    def _check(self, name: str) -> Iterator[Job]:
        controller, number = self._known.controller(name), self._books.record.number_of(name)
        return (
            Job(seed, Purpose.EVALUATION, controller, name, number)
            for seed in unbiased_estimate.check_seeds(self._settings.seed, number)
        )

    def _checked(self, name: str) -> bool:
        if self._books.fresh(name).trials >= unbiased_estimate.ENOUGH:
            return True
        return not any(self._known.missing(self._check(name)))

    def _looks_good(self) -> str:
        """Who is to be examined next, each once: the incumbent; or who could not be shown to be
        better than a good one, yet reaches the target too. Empty for nobody.
        """
        examined, record = self._sealed.examined, self._books.record
        target = self._settings.evaluation.target
        seen = self._books.fresh(record.incumbent)
        enough = seen.trials >= unbiased_estimate.ENOUGH
        if record.incumbent not in examined and enough and seen.rate >= target:
            return record.incumbent
        for number, _ in record.decided:
            entry = self._books.entry(number)
            if entry.policy in examined or not entry.matches or entry.policy == record.incumbent:
                continue
            last = entry.matches[-1].record
            own = [e.success for e in self._known.evaluations(entry.policy)]
            good = len(own) >= unbiased_estimate.ENOUGH and sum(own) / len(own) >= target
            if last.wins >= last.losses and good:
                return entry.policy
        return ""

    def _examine(self, name: str) -> Life:
        number, episodes = self._books.record.number_of(name), self._known.episodes
        examination = self._sealed.begin(name, self._known.controller(name), number)
        yield from self._run_out(examination.due(episodes), EXAMINING)
        row = self._sealed.close(examination, episodes)
        self._books.tell("sealed", number, f"{name}, {self._sealed.text(row)}")
        self._state.take(row, self._sealed.passed(row))
