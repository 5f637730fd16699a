"""Success against robot time: incumbents by round, candidates, sealed evaluations, versions."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import accumulate

from enpire.observe import account
from enpire.observe.overview import sealed_of
from enpire.rollout.statistics import estimate
from enpire.store import EpisodeRow, Run
from enpire.types import JUDGED, Estimate, Outcome, Purpose

WINDOW = 40  # judged episodes that say how good some versions of an online learner were together
VERSION = re.compile(r"policy-\d+\.\d+")  # what an online learner's versions are called


class MeasurementKind(StrEnum):
    """What a success rate was measured for."""

    INCUMBENT = "incumbent"
    CANDIDATE = "candidate"
    SEALED = "sealed"


@dataclass(frozen=True, slots=True)
class SuccessPoint:
    """One measured success rate.

    Attributes:
        policy: that was measured.
        kind: what it was measured for.
        robot_s: robot time of the run when it was known, sealed evaluations apart [s].
        success: the rate with its 95% interval.
        passed: whether it is a sealed evaluation that reached the target.
    """

    policy: str
    kind: MeasurementKind
    robot_s: float
    success: Estimate
    passed: bool = False


@dataclass(frozen=True, slots=True)
class VersionWindow:
    """Success of consecutive versions of an online learner, in the episodes it learned from.

    robot_s: robot time of the run at the window's last episode, sealed evaluations apart [s].
    """

    first: str
    last: str
    robot_s: float
    success: Estimate


@dataclass(frozen=True, slots=True)
class SuccessCurve:
    """Everything that is known of success in the course of a run.

    robot_s: of the whole run, sealed evaluations apart [s].
    """

    points: tuple[SuccessPoint, ...]
    versions: tuple[VersionWindow, ...]
    target: float | None
    robot_s: float

    def of(self, kind: MeasurementKind) -> list[SuccessPoint]:
        """Return the points of one kind, by robot time."""
        return sorted((p for p in self.points if p.kind is kind), key=lambda p: p.robot_s)


def read_success(run: Run, rows: Sequence[EpisodeRow]) -> SuccessCurve:
    """Return the course of success; rows: all episodes of the run, in order of commitment."""
    at = robot_time(rows)
    points = [*_incumbents(run, rows, at), *_candidates(run, rows, at), *_sealed(run, rows, at)]
    target, end = run.asked.get("target"), at[-1] if at else 0.0
    return SuccessCurve(tuple(points), tuple(_versions(rows, at)), target, end)


def robot_time(rows: Sequence[EpisodeRow]) -> list[float]:
    """Return the robot time of a run after each of its episodes, sealed ones apart [s]."""
    sealed = Purpose.SEALED
    spent = (
        0.0 if row.purpose is sealed else row.reset_s + row.execute_s + row.verify_s for row in rows
    )
    return list(accumulate(spent))


def _incumbents(run: Run, rows: Sequence[EpisodeRow], at: Sequence[float]) -> list[SuccessPoint]:
    points = []
    start = account.start(run.ledger)
    when = [t for row, t in zip(rows, at, strict=True) if _evaluates(row) and row.round == 0]
    if start.trials and when:
        point = SuccessPoint(account.FIRST, MeasurementKind.INCUMBENT, when[-1], start)
        points.append(point)
    for row in run.ledger.rounds():
        if row.trials:
            success = Estimate(row.successes, row.trials, row.low, row.high)
            kind = MeasurementKind.INCUMBENT
            points.append(SuccessPoint(row.policy, kind, row.robot_s, success))
    return [*points, *_latest(run, rows, at, points)]


def _latest(
    run: Run, rows: Sequence[EpisodeRow], at: Sequence[float], points: Sequence[SuccessPoint]
) -> list[SuccessPoint]:
    """The last incumbent by all its evaluations, if there were more of them after its round."""
    policy = account.incumbent(run.ledger)
    when = [t for row, t in zip(rows, at, strict=True) if _evaluates(row) and row.policy == policy]
    success = account.evaluations(run.ledger, policy)
    if not points or not when or success.trials <= points[-1].success.trials:
        return []
    return [SuccessPoint(policy, MeasurementKind.INCUMBENT, when[-1], success)]


def _candidates(run: Run, rows: Sequence[EpisodeRow], at: Sequence[float]) -> list[SuccessPoint]:
    """Policies that never were the incumbent at the end of a round, by their own evaluations."""
    incumbents = {row.policy for row in run.ledger.rounds()} | {account.FIRST}
    counts: dict[str, tuple[int, int, float]] = {}
    for row, when in zip(rows, at, strict=True):
        if _evaluates(row) and row.outcome in JUDGED and row.policy not in incumbents:
            good, trials, _ = counts.get(row.policy, (0, 0, 0.0))
            good += row.outcome is Outcome.SUCCESS
            counts[row.policy] = good, trials + 1, when
    return [
        SuccessPoint(policy, MeasurementKind.CANDIDATE, when, estimate(good, trials))
        for policy, (good, trials, when) in counts.items()
    ]


def _sealed(run: Run, rows: Sequence[EpisodeRow], at: Sequence[float]) -> list[SuccessPoint]:
    when = {row.round: t for row, t in zip(rows, at, strict=True) if row.purpose is Purpose.SEALED}
    passing = {row.attempt for row in sealed_of(run).passing}
    return [
        SuccessPoint(
            row.policy,
            MeasurementKind.SEALED,
            when.get(row.attempt, at[-1] if at else 0.0),
            Estimate(row.successes, row.trials, row.low, row.high),
            row.attempt in passing,
        )
        for row in run.ledger.sealed()
    ]


def _versions(rows: Sequence[EpisodeRow], at: Sequence[float]) -> list[VersionWindow]:
    learned = [
        (row, t)
        for row, t in zip(rows, at, strict=True)
        if row.purpose is Purpose.COLLECTION
        and row.outcome in JUDGED
        and VERSION.fullmatch(row.policy)
    ]
    windows = []
    for begin in range(0, len(learned), WINDOW):
        part = learned[begin : begin + WINDOW]
        if len(part) < WINDOW // 2:
            break  # too few to say anything
        good = sum(row.outcome is Outcome.SUCCESS for row, _ in part)
        (first, _), (last, when) = part[0], part[-1]
        windows.append(VersionWindow(first.policy, last.policy, when, estimate(good, len(part))))
    return windows


def _evaluates(row: EpisodeRow) -> bool:
    return row.purpose is Purpose.EVALUATION
