"""Rules of selection: whose next pair is run, by the paired records and nothing else.

A campaign goes by `GREEDY`, which cost least to find one of the best: `docs/evolution.md`.

Sources:
    Thompson, "On the likelihood that one unknown probability exceeds another in view of the
        evidence of two samples", Biometrika 1933.
    Karnin, Koren and Somekh, "Almost optimal exploration in multi-armed bandits", ICML 2013:
        sequential (successive) halving.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum

import numpy as np

from enpire.errors import UsageError
from enpire.evolution.experiments.selection import promising
from enpire.rollout.evaluation.comparison import Decision, PairedRecord, decide

FIRST_RUNG = 8  # pairs of each contender before half of them are put aside; doubled from then on


class SelectionRule(StrEnum):
    """How to choose."""

    UNIFORM = "uniform"
    GREEDY = "greedy"
    THOMPSON = "thompson"
    HALVING = "halving"


@dataclass(frozen=True, slots=True)
class Contender:
    """A candidate in trials."""

    name: str
    record: PairedRecord = field(default_factory=PairedRecord)  # of its pairs so far
    # Its records after `FIRST_RUNG`, twice, four times as many pairs.
    rungs: tuple[PairedRecord, ...] = ()
    under_way: int = 0  # pairs that are being run
    decision: Decision = Decision.CONTINUE  # of its test, so far

    def add(self, *, candidate: bool, incumbent: bool, alpha: float) -> Contender:
        """Add the outcomes of one more pair, in the order of seeds; nothing after a decision.

        alpha: the level of its own test, see `level`.
        """
        if self.decision is not Decision.CONTINUE:
            return self
        record = self.record.add(candidate=candidate, incumbent=incumbent)
        rungs = self.rungs
        if record.pairs == FIRST_RUNG << len(rungs):
            rungs = (*rungs, record)
        return replace(self, record=record, rungs=rungs, decision=decide(record, alpha))

    @property
    def pairs(self) -> int:
        """Run, and under way."""
        return self.record.pairs + self.under_way

    def rung(self, number: int) -> PairedRecord:
        """The record after so many pairs, or as it was when it was decided before."""
        return self.rungs[number] if number < len(self.rungs) else self.record


def choose(
    rule: SelectionRule, contenders: Sequence[Contender], rng: np.random.Generator
) -> str | None:
    """Name of the contender whose next pair is to be run; None once all are decided.

    Ask again for the next robot, with `under_way` counted up. rng: only `thompson` draws.

    Raises:
        UsageError: two contenders have one name.
    """
    if len({c.name for c in contenders}) < len(contenders):
        raise UsageError("two contenders have one name")
    undecided = [c for c in contenders if c.decision is Decision.CONTINUE]
    if not undecided:
        return None
    match rule:
        case SelectionRule.UNIFORM:
            return _fewest(undecided)
        case SelectionRule.GREEDY:
            return max(undecided, key=lambda c: (promising(c.record), -c.pairs)).name
        case SelectionRule.THOMPSON:
            draws = [rng.beta(c.record.wins + 1, c.record.losses + 1) for c in undecided]
            return undecided[int(np.argmax(draws))].name
        case SelectionRule.HALVING:
            return _halving(contenders, undecided)


def _halving(contenders: Sequence[Contender], undecided: Sequence[Contender]) -> str:
    """Rung by rung: everybody in it is run as far as the rung goes, and the better half stays.

    Who is put aside comes back, the most promising first, where none of the others was promoted.
    """
    inside = list(contenders)
    for number in range(64):
        running = [c for c in inside if c.decision is Decision.CONTINUE]
        if not running:
            break
        if len(inside) == 1:
            return running[0].name
        behind = [c for c in running if c.pairs < FIRST_RUNG << number]
        if behind:
            return _fewest(behind)
        waiting = [c for c in running if number >= len(c.rungs)]
        if waiting:  # the rung is not over: pairs of it are under way
            return _fewest(waiting)
        inside.sort(key=lambda c: promising(c.rung(number)), reverse=True)
        inside = inside[: (len(inside) + 1) // 2]
    return max(undecided, key=lambda c: (promising(c.record), -c.pairs)).name


def _fewest(contenders: Iterable[Contender]) -> str:
    return min(contenders, key=lambda c: c.pairs).name
