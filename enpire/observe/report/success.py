"""Success against robot time: incumbents by round, candidates, sealed evaluations, versions."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from enpire.observe import account
from enpire.observe.overview import sealed_of
from enpire.rollout.evaluation.statistics import estimate
from enpire.store import EpisodeRow, RoundRow, Run, SealedRow
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
    """One measured success rate."""

    policy: str  # that was measured
    kind: MeasurementKind  # what it was measured for
    robot_s: float  # robot time of the run when it was known, sealed evaluations apart [s]
    success: Estimate  # the rate with its 95% interval
    passed: bool = False  # whether it is a sealed evaluation that reached the target


@dataclass(frozen=True, slots=True)
class VersionWindow:
    """Success of consecutive versions of an online learner, in the episodes it learned from."""

    first: str
    last: str
    # Robot time of the run at the window's last episode, sealed evaluations apart [s].
    robot_s: float
    success: Estimate


@dataclass(frozen=True, slots=True)
class SuccessCurve:
    """Everything that is known of success in the course of a run."""

    points: tuple[SuccessPoint, ...]
    versions: tuple[VersionWindow, ...]
    target: float | None
    robot_s: float  # of the whole run, sealed evaluations apart [s]

    def of(self, kind: MeasurementKind) -> list[SuccessPoint]:
        """Return the points of one kind, by robot time."""
        return sorted((p for p in self.points if p.kind is kind), key=lambda p: p.robot_s)


@dataclass(slots=True)
class _Count:
    """Judged episodes of a policy, and the robot time when the last of any kind ended [s]."""

    successes: int = 0
    trials: int = 0
    robot_s: float = 0.0

    def add(self, row: EpisodeRow, robot_s: float) -> None:
        self.robot_s = robot_s
        if row.outcome in JUDGED:
            self.trials += 1
            self.successes += row.outcome is Outcome.SUCCESS

    @property
    def estimate(self) -> Estimate:
        return estimate(self.successes, self.trials)


class SuccessTally:
    """What the course of success needs to know of episodes, added one by one.

    Attributes:
        robot_s: robot time of those added, sealed evaluations apart [s].
    """

    def __init__(self) -> None:
        """Begin with no episode yet."""
        self.robot_s = 0.0
        self._evaluated: dict[str, _Count] = {}  # by policy
        self._start = _Count()  # of the first policy, before any round
        self._started = 0.0  # robot time at the last evaluation before any round [s]
        self._sealed: dict[int, float] = {}  # robot time at the end of each attempt [s]
        self._windows: list[VersionWindow] = []
        self._open: list[tuple[EpisodeRow, float]] = []  # of the window that is not full

    def add(self, row: EpisodeRow) -> None:
        """Take in the next episode, in the order of commitment."""
        if row.purpose is Purpose.SEALED:
            self._sealed[row.round] = self.robot_s
            return
        self.robot_s += row.robot_s
        if row.purpose is Purpose.EVALUATION:
            if row.policy not in self._evaluated:
                self._evaluated[row.policy] = _Count()
            self._evaluated[row.policy].add(row, self.robot_s)
            if row.round == 0:
                self._started = self.robot_s
                if row.policy == account.FIRST:
                    self._start.add(row, self.robot_s)
        elif _learned_from(row):
            self._learn(row)

    def evaluations(self, policy: str) -> Estimate:
        """Return the success rate of a policy over all its evaluations, sealed ones apart."""
        return self._evaluated.get(policy, _Count()).estimate

    def curve(
        self,
        rounds: Sequence[RoundRow],
        incumbent: str,
        sealed: Sequence[SealedRow],
        passing: Sequence[SealedRow],
        target: float | None,
    ) -> SuccessCurve:
        """Return the course of success so far.

        Args:
            rounds: that are over.
            incumbent: of now; empty before there is one.
            sealed: evaluations that are over; passing: those of them that reached the target.
        """
        points = [
            *self._incumbents(rounds, incumbent),
            *self._candidates(rounds),
            *self._examined(sealed, passing),
        ]
        windows = [*self._windows]
        if len(self._open) >= WINDOW // 2:  # fewer say nothing
            windows.append(_window(self._open))
        return SuccessCurve(tuple(points), tuple(windows), target, self.robot_s)

    def _learn(self, row: EpisodeRow) -> None:
        self._open.append((row, self.robot_s))
        if len(self._open) == WINDOW:
            self._windows.append(_window(self._open))
            self._open = []

    def _incumbents(self, rounds: Sequence[RoundRow], incumbent: str) -> list[SuccessPoint]:
        kind = MeasurementKind.INCUMBENT
        points = []
        if self._start.trials:
            points.append(SuccessPoint(account.FIRST, kind, self._started, self._start.estimate))
        for row in rounds:
            if row.trials:
                points.append(SuccessPoint(row.policy, kind, row.robot_s, row.success))
        # By all its evaluations, if there were more of them after its round.
        last = self._evaluated.get(incumbent)
        if points and last and last.trials > points[-1].success.trials:
            points.append(SuccessPoint(incumbent, kind, last.robot_s, last.estimate))
        return points

    def _candidates(self, rounds: Sequence[RoundRow]) -> list[SuccessPoint]:
        """Policies that never were the incumbent at the end of a round, by their evaluations."""
        incumbents = {row.policy for row in rounds} | {account.FIRST}
        return [
            SuccessPoint(policy, MeasurementKind.CANDIDATE, count.robot_s, count.estimate)
            for policy, count in self._evaluated.items()
            if policy not in incumbents and count.trials
        ]

    def _examined(
        self, sealed: Sequence[SealedRow], passing: Sequence[SealedRow]
    ) -> list[SuccessPoint]:
        good = {row.attempt for row in passing}
        return [
            SuccessPoint(
                row.policy,
                MeasurementKind.SEALED,
                self._sealed.get(row.attempt, self.robot_s),
                row.success,
                row.attempt in good,
            )
            for row in sealed
        ]


def read_success(run: Run, rows: Sequence[EpisodeRow]) -> SuccessCurve:
    """Return the course of success; rows: all episodes of the run, in order of commitment."""
    tally = SuccessTally()
    for row in rows:
        tally.add(row)
    ledger = run.ledger
    incumbent, passing = account.incumbent(ledger), sealed_of(run).passing
    return tally.curve(
        ledger.rounds(), incumbent, ledger.sealed(), passing, run.asked.get("target")
    )


def _learned_from(row: EpisodeRow) -> bool:
    """Whether an online learner's version acted in it, and it was judged."""
    collected = row.purpose is Purpose.COLLECTION and row.outcome in JUDGED
    return collected and VERSION.fullmatch(row.policy) is not None


def _window(part: Sequence[tuple[EpisodeRow, float]]) -> VersionWindow:
    good = sum(row.outcome is Outcome.SUCCESS for row, _ in part)
    (first, _), (last, when) = part[0], part[-1]
    return VersionWindow(first.policy, last.policy, when, estimate(good, len(part)))
