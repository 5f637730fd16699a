"""Sealed evaluations: once for a policy, on seeds drawn after it was frozen, that nobody sees.

What was drawn is noted before the first episode, so an examination that was cut short goes on with
its own seeds.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice

from enpire.environment import Controller, Job
from enpire.rollout.seeds import fresh_entropy, stream
from enpire.rollout.statistics import estimate, misses_allowed, sealed_hopeless
from enpire.store import Decision as Note
from enpire.store import SealedRow
from enpire.store.ledger import Ledger
from enpire.types import Episode, Purpose

SEALING = "sealing"  # the kind of note that says that seeds are drawn


@dataclass(frozen=True, slots=True)
class Examination:
    """One of them. jobs: all that it may need."""

    attempt: int
    policy: str
    entropy: int
    jobs: tuple[Job, ...]
    target: float

    def due(self, known: Mapping[str, Episode]) -> Iterator[Job]:
        """Its jobs, until by what is `known` the target is out of reach."""
        for job in self.jobs:
            failures = self._results(known).count(False)
            if sealed_hopeless(failures, len(self.jobs), self.target):
                return
            yield job

    def row(self, known: Mapping[str, Episode]) -> SealedRow:
        """What came of it."""
        results = self._results(known)
        seen = estimate(sum(results), len(results))
        return SealedRow(
            self.attempt,
            self.policy,
            self.entropy,
            seen.successes,
            seen.trials,
            seen.low,
            seen.high,
        )

    def _results(self, known: Mapping[str, Episode]) -> list[bool]:
        return [known[job.id].success for job in self.jobs if job.id in known]


@dataclass(frozen=True, slots=True)
class Sealed:
    """Those of a run. target: rate to be reached; episodes: of an examination."""

    ledger: Ledger
    target: float
    episodes: int

    @property
    def examined(self) -> set[str]:
        """Policies whose examination is over."""
        return {row.policy for row in self.ledger.sealed()}

    @property
    def under_way(self) -> str:
        """Whose was begun and is not over; empty for nobody's."""
        note = self._drawn(self._next)
        return note.incumbent if note else ""

    def begin(self, policy: str, controller: Controller, round: int) -> Examination:
        """Freeze a policy and draw its seeds; or take up the one of its that is under way.

        round: of the note that says so.
        """
        attempt = self._next
        note = self._drawn(attempt)
        if note is None:
            numbers: dict[str, float] = {"attempt": attempt, "entropy": fresh_entropy()}
            text = f"{policy} is frozen; its sealed seeds are drawn"
            note = Note(round, SEALING, text, policy, "", numbers)
            self.ledger.add_decision(note)
        entropy = int(note.numbers["entropy"])
        seeds = islice(stream(entropy, "sealed", attempt), self.episodes)
        jobs = tuple(Job(seed, Purpose.SEALED, controller, policy, attempt) for seed in seeds)
        return Examination(attempt, policy, entropy, jobs, self.target)

    def close(self, examination: Examination, known: Mapping[str, Episode]) -> SealedRow:
        """Write down what came of one."""
        row = examination.row(known)
        self.ledger.add_sealed(row)
        return row

    def passed(self, row: SealedRow) -> bool:
        """Whether the target was reached in it."""
        failures = row.trials - row.successes
        return row.trials >= self.episodes and failures <= misses_allowed(self.target, row.trials)

    @property
    def _next(self) -> int:
        return len(self.ledger.sealed()) + 1

    def _drawn(self, attempt: int) -> Note | None:
        for note in self.ledger.decisions():
            if note.kind == SEALING and note.numbers["attempt"] == attempt:
                return note
        return None
