"""Sealed evaluations: once for a policy, on seeds drawn after it was frozen, that nobody sees.

What was drawn is noted before the first episode, so an examination that was cut short goes on with
its own seeds.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from enpire.rollout.evaluation.sealed_rule import POINT, SealedRule, SealedVerdict
from enpire.rollout.evaluation.seeds import fresh_entropy, stream
from enpire.rollout.evaluation.statistics import estimate, misses_allowed, sealed_hopeless
from enpire.store import LogEntry, SealedRow
from enpire.store.ledger import Ledger
from enpire.types import Episode, Estimate, Purpose

if TYPE_CHECKING:
    from enpire.environment import Controller, Job

SEALING = "sealing"  # the kind of note that says that seeds are drawn
RULE = ("alpha", "null", "good", "least", "most")  # what the note says of an attempt's rule


@dataclass(frozen=True, slots=True)
class PointRule:
    """The rule of runs made before `SealedRule`: a point estimate on a fixed number of episodes."""

    target: float
    most: int

    def verdict(self, failures: int, trials: int) -> SealedVerdict:
        """Say whether the target is reached, missed or still open after so many episodes."""
        if sealed_hopeless(failures, max(trials, self.most), self.target):
            return SealedVerdict.MISSED
        return SealedVerdict.REACHED if trials >= self.most else SealedVerdict.OPEN

    def soonest(self, failures: int) -> int:
        """Episodes at which so many failures reach the target; `most` + 1 if none do."""
        return self.most + (failures > misses_allowed(self.target, self.most))

    def interval(self, failures: int, trials: int) -> Estimate:
        """Return the estimate with its 95% interval."""
        return estimate(trials - failures, trials)


def counted(rule: SealedRule | PointRule, results: Iterable[bool | None]) -> list[bool]:
    """Return the results that an evaluation consists of, in the order of its seeds.

    Those are the leading ones that are there, up to the one that decides: what was under way
    then changes nothing, so that an evaluation which is continued comes to the same verdict. Of a
    `PointRule` they are all that are there.
    """
    if isinstance(rule, PointRule):
        return [one for one in results if one is not None]
    leading: list[bool] = []
    failures = 0
    for one in results:
        if one is None:
            break
        leading.append(one)
        failures += not one
        if rule.verdict(failures, len(leading)) is not SealedVerdict.OPEN:
            break
    return leading


@dataclass(slots=True)
class SealedExamination:
    """One sealed evaluation of a policy."""

    attempt: int  # the how many-th of its run
    policy: str  # name of who is examined
    entropy: int  # what its seeds are drawn from
    controller: Controller  # acts for the policy
    rule: SealedRule | PointRule  # says when it is over
    _jobs: list[Job] = field(default_factory=list)
    _seeds: Iterator[int] = field(init=False)

    def __post_init__(self) -> None:
        self._seeds = stream(self.entropy, "sealed", self.attempt)

    def job(self, number: int) -> Job:
        """Return one of its jobs, from 0, in the order of its seeds."""
        from enpire.environment import Job  # who only reads what came of it needs no twin

        while len(self._jobs) <= number:
            seed = next(self._seeds)
            job = Job(seed, Purpose.SEALED, self.controller, self.policy, self.attempt)
            self._jobs.append(job)
        return self._jobs[number]

    def due(self, episodes: Mapping[str, Episode]) -> Iterator[Job | None]:
        """Yield its jobs until the verdict is there, by `episodes`.

        No more are yielded than can be needed if all that are under way succeed; `None` says that
        none is due before one of them has ended.
        """
        failures = trials = issued = 0
        while True:
            while (episode := episodes.get(self.job(trials).id)) is not None:
                trials += 1
                failures += not episode.success
                if self.rule.verdict(failures, trials) is not SealedVerdict.OPEN:
                    return
            issued = max(issued, trials)
            ahead = (episodes.get(self.job(number).id) for number in range(trials, issued))
            late = sum(not episode.success for episode in ahead if episode is not None)
            if issued < self.planned(failures + late):
                yield self.job(issued)
                issued += 1
            else:
                yield None

    def planned(self, failures: int) -> int:
        """Return how many episodes it takes if no more of them fail than so many."""
        return min(self.rule.soonest(failures), self.rule.most)

    def counts(self, known: Mapping[str, Episode]) -> tuple[int, int]:
        """Return how many of its episodes failed so far, and how many there are."""
        there = [episode for episode in self._episodes(known) if episode is not None]
        return sum(not episode.success for episode in there), len(there)

    def row(self, known: Mapping[str, Episode]) -> SealedRow:
        """Return what came of it."""
        episodes = self._episodes(known)
        results = counted(self.rule, (e.success if e is not None else None for e in episodes))
        seen = self.rule.interval(results.count(False), len(results))
        return SealedRow(
            self.attempt,
            self.policy,
            self.entropy,
            seen.successes,
            seen.trials,
            seen.low,
            seen.high,
        )

    def _episodes(self, known: Mapping[str, Episode]) -> Iterator[Episode | None]:
        return (known.get(self.job(number).id) for number in range(self.rule.most))


@dataclass(frozen=True, slots=True)
class Sealed:
    """The sealed evaluations of a run."""

    ledger: Ledger
    target: float  # success rate to be reached
    episodes: int  # fewest episodes that may reach it
    bound: str = POINT  # what is held against the target, see `SealedRule.of`

    @property
    def examined(self) -> set[str]:
        """Policies whose examination is over."""
        return {row.policy for row in self.ledger.sealed()}

    @property
    def under_way(self) -> str:
        """Whose was begun and is not over; empty for nobody's."""
        note = self._drawn(self._next)
        return note.incumbent if note else ""

    def begin(self, policy: str, controller: Controller, round: int) -> SealedExamination:
        """Freeze a policy and draw its seeds; or take up the one of its that is under way.

        round: of the note that says so.

        Raises:
            ValueError: another policy's is under way.
        """
        attempt = self._next
        note = self._drawn(attempt)
        if note is None:
            drawn = SealedRule.of(self.target, self.episodes, attempt, self.bound)
            numbers: dict[str, float] = {"attempt": attempt, "entropy": fresh_entropy()}
            numbers |= {name: float(getattr(drawn, name)) for name in RULE}
            row = self.ledger.policy(policy)
            frozen = f"{policy} is frozen (sha256 {row.sha256})" if row else f"{policy} is frozen"
            text = f"{frozen}; its sealed seeds are drawn. {drawn}"
            note = LogEntry(round, SEALING, text, policy, "", numbers)
            self.ledger.add_decision(note)
        if note.incumbent != policy:
            raise ValueError(f"the sealed evaluation of {note.incumbent} is under way")
        entropy = int(note.numbers["entropy"])
        rule = noted_rule(note, self.target, self.episodes)
        return SealedExamination(attempt, policy, entropy, controller, rule)

    def close(self, examination: SealedExamination, episodes: Mapping[str, Episode]) -> SealedRow:
        """Write down what came of one."""
        row = examination.row(episodes)
        self.ledger.add_sealed(row)
        return row

    def passed(self, row: SealedRow) -> bool:
        """Whether the target was reached in it."""
        return self._verdict(row) is SealedVerdict.REACHED

    @property
    def passing(self) -> list[SealedRow]:
        """The evaluations that reached the target, in their order."""
        return [row for row in self.ledger.sealed() if self.passed(row)]

    def at_least(self, row: SealedRow) -> float:
        """Return the rate that the policy's true one is not below.

        All such bounds of a run hold together with a probability of 1 - `ERRORS`. Of runs made
        before, it is the lower end of the 95% interval; so it is of counts with which no evaluation
        can end, which `campaign audit` tells.
        """
        rule, failures = self.rule(row.attempt), row.trials - row.successes
        if isinstance(rule, PointRule) or not self.passed(row):
            return row.low
        return rule.bound(failures, row.trials) if rule.ends_at(failures, row.trials) else row.low

    def rule(self, attempt: int) -> SealedRule | PointRule:
        """Return the rule of an attempt, as it was noted before its first episode."""
        return noted_rule(self._drawn(attempt), self.target, self.episodes)

    def text(self, row: SealedRow) -> str:
        """Return what came of an evaluation, for a person."""
        measured = row.success
        verdict = str(self._verdict(row))
        if not self.passed(row):
            return f"attempt {row.attempt}, {verdict}: {measured}"
        return f"attempt {row.attempt}, {verdict}: {measured}, at least {self.at_least(row):.3f}"

    def _verdict(self, row: SealedRow) -> SealedVerdict:
        return self.rule(row.attempt).verdict(row.trials - row.successes, row.trials)

    @property
    def _next(self) -> int:
        return len(self.ledger.sealed()) + 1

    def _drawn(self, attempt: int) -> LogEntry | None:
        for note in self.ledger.decisions():
            if note.kind == SEALING and note.numbers["attempt"] == attempt:
                return note
        return None


def noted_rule(note: LogEntry | None, target: float, episodes: int) -> SealedRule | PointRule:
    """Return the rule that a note on drawn seeds names; runs made before named none."""
    if note is None or "alpha" not in note.numbers:
        return PointRule(target, episodes)
    alpha, null, good, least, most = (note.numbers[name] for name in RULE)
    return SealedRule(target, null, good, alpha, int(least), int(most))
