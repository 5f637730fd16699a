"""Judged failures that came about alike: by the last stage and the predicates that did not hold."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from enpire.store import EpisodeRow
from enpire.store.ledger import Ledger
from enpire.types import Outcome, Predicate, Purpose

MOST = 8  # clusters that are shown
MEASURED = (Purpose.EVALUATION, Purpose.SEALED)


@dataclass(frozen=True, slots=True)
class PredicateMargins:
    """The margins by which one predicate failed in the episodes of a cluster."""

    name: str  # of the predicate
    unit: str  # of its measure
    # Distances to the threshold, ascending; negative ones are on the wrong side.
    margins: tuple[float, ...]
    unmeasured: int  # episodes in which there was no measure

    @property
    def median(self) -> float:
        """The middle one of the margins; not a number without any."""
        return self.margins[len(self.margins) // 2] if self.margins else math.nan


@dataclass(frozen=True, slots=True)
class FailureCluster:
    """Failures of evaluations with one last stage and the same predicates."""

    stage: str  # the last one that was reached
    # That did not hold, by name; none where the episode was stopped before.
    predicates: tuple[str, ...]
    count: int  # failures in evaluations of all policies, sealed ones included
    final: int  # those of them that are the final policy's
    margins: tuple[PredicateMargins, ...]  # by how much each predicate failed
    examples: tuple[str, ...]  # ids of episodes, those of the final policy first, the latest first
    reason: str  # what the verdict of the first example says

    @property
    def title(self) -> str:
        """What a person calls it."""
        stage = f"Reached {self.stage}" if self.stage else "Reached no stage"
        *others, last = self.predicates or ("nothing that was measured",)
        missed = f"{', '.join(others)} and {last}" if others else last
        return f"{stage}, missed {missed}"


@dataclass(frozen=True, slots=True)
class FailureReport:
    """The failures of all evaluations."""

    clusters: tuple[FailureCluster, ...]  # the largest ones, those of the final policy first
    failures: int  # in all, also those of clusters that are left out
    trials: int  # judged evaluations
    final_failures: int  # of the final policy
    final_trials: int  # judged evaluations of the final policy
    void: Mapping[str, int]  # episodes that were invalid, by their reason


def read_failures(ledger: Ledger, rows: Sequence[EpisodeRow], policy: str) -> FailureReport:
    """Return how evaluations failed; policy: the final one."""
    measured = [row for row in rows if row.purpose in MEASURED]
    failed = [row for row in measured if row.outcome is Outcome.FAILURE]
    won = [row for row in measured if row.outcome is Outcome.SUCCESS]
    groups: dict[tuple[str, tuple[str, ...]], list[tuple[EpisodeRow, tuple[Predicate, ...]]]] = {}
    unmet = ledger.unmet()
    for row in failed:
        missed = unmet.get(row.id, ())
        key = row.stage, tuple(p.name for p in missed)
        groups.setdefault(key, []).append((row, missed))
    clusters = [_cluster(key, members, policy) for key, members in groups.items()]
    clusters.sort(key=lambda one: (one.final, one.count), reverse=True)
    final_failures = sum(row.policy == policy for row in failed)
    return FailureReport(
        tuple(clusters[:MOST]),
        len(failed),
        len(failed) + len(won),
        final_failures,
        final_failures + sum(row.policy == policy for row in won),
        _void(rows),
    )


def _cluster(
    key: tuple[str, tuple[str, ...]],
    members: Sequence[tuple[EpisodeRow, tuple[Predicate, ...]]],
    policy: str,
) -> FailureCluster:
    stage, names = key
    margins = []
    for at, name in enumerate(names):
        values = [missed[at].margin for _, missed in members]
        known = sorted(value for value in values if not math.isnan(value))
        unit = members[0][1][at].unit
        margins.append(PredicateMargins(name, unit, tuple(known), len(values) - len(known)))
    latest = [row for row, _ in reversed(members)]
    latest.sort(key=lambda row: row.policy != policy)  # stable: the latest stay first
    final = sum(row.policy == policy for row, _ in members)
    examples = tuple(row.id for row in latest[:5])
    return FailureCluster(
        stage, names, len(members), final, tuple(margins), examples, latest[0].reason
    )


def _void(rows: Sequence[EpisodeRow]) -> dict[str, int]:
    void = (row for row in rows if row.outcome is Outcome.INVALID)
    counts = Counter(row.reason or row.stage or "no reason given" for row in void)
    return dict(counts.most_common())
