"""What of a run is a number over steps: derived from its ledger and its training curves alone.

Steps of a run's own scalars are robot seconds, sealed evaluations apart: robot time is what a run
spends. Steps of a training are gradient steps, or versions of a policy that learns online.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple, Protocol

from enpire.observe.account import FIRST
from enpire.rollout.evaluation.statistics import estimate
from enpire.store import EpisodeRow, LogEntry, RoundRow, Run
from enpire.store.curves import CurveReader
from enpire.store.episodes import read_attributes
from enpire.types import JUDGED, Estimate, Outcome, Purpose

HUNDRED = 100  # collected episodes whose success is one point
SAME_S = 1e-3  # of robot time that is summed up otherwise
CLOSING = frozenset({"promoted", "kept", "rejected", "dropped", "failed"})
"""Kinds of the decisions after which a candidate is measured no longer."""


class Key(NamedTuple):
    """What tells one scalar from all others of its run."""

    name: str
    step: int


@dataclass(frozen=True, slots=True)
class Scalar:
    """One value of a run."""

    name: str  # parts with a stroke between them; those of a training begin with `training-3/`
    step: int  # robot seconds, gradient steps or versions; see this module
    value: float
    at: float  # when it was known, Unix time [s]

    @property
    def key(self) -> Key:
        """What tells it from all others of its run."""
        return Key(self.name, self.step)


class Tracker(Protocol):
    """Takes the scalars of one run."""

    def known_keys(self) -> set[Key]:
        """Return what it holds of the run already, from earlier starts."""

    def log(self, scalars: Sequence[Scalar]) -> None:
        """Take scalars that it does not hold yet."""

    def close(self) -> None:
        """End it; all that it took is kept."""


class _Judged(NamedTuple):
    """One judged episode; robot_s: of the run when it had ended, at: when it was recorded."""

    success: bool
    robot_s: float
    at: float


@dataclass(slots=True)
class _Tally:
    """Judged episodes of one policy so far, and when the last of them was recorded."""

    successes: int = 0
    trials: int = 0
    robot_s: float = 0.0
    at: float = 0.0

    def add(self, row: EpisodeRow, robot_s: float) -> None:
        self.take(_Judged(row.outcome is Outcome.SUCCESS, robot_s, row.committed_at))

    def take(self, one: _Judged) -> None:
        self.successes += one.success
        self.trials += 1
        self.robot_s, self.at = one.robot_s, one.at

    @property
    def success(self) -> Estimate:
        return estimate(self.successes, self.trials)


@dataclass(slots=True)
class _Block:
    """Collected episodes of which a point is being made."""

    tally: _Tally = field(default_factory=_Tally)
    staleness: int = 0


@dataclass(slots=True)
class ScalarReader:
    """Reads the scalars of a run that may be under way, each of them once."""

    run: Run  # open for reading or writing
    _curves: CurveReader = field(init=False)
    _rows: int = 0  # episodes read so far
    _start_rows: int = 0  # of these, of the first policy's evaluation
    _robot_s: float = 0.0
    _execute_s: float = 0.0
    _block: _Block = field(default_factory=_Block)
    _evaluated: dict[tuple[str, int], list[_Judged]] = field(default_factory=dict)
    _sealed: dict[int, _Tally] = field(default_factory=dict)
    _closed: set[str] = field(default_factory=set)  # candidates, as of the last call
    _stale: dict[str, list[int]] = field(default_factory=dict)  # of the last batch, by its path
    _given: set[Key] = field(default_factory=set)

    def __post_init__(self) -> None:
        self._curves = CurveReader(self.run.folder)

    def read(self, last: bool = False) -> list[Scalar]:
        """Return what is new since the last call.

        Args:
            last: the run has ended and all of it is recorded, so that nothing is held back.
        """
        rounds = self.run.ledger.rounds()  # first, so that all episodes that led to them are read
        scalars = [*self._episodes(), *self._incumbents(rounds, last)]
        scalars += self._candidates(rounds, last)
        scalars += self._examinations()
        scalars += [
            Scalar(f"{point.training}/{point.name}", point.step, point.value, point.at)
            for point in self._curves.read()
        ]
        new = [scalar for scalar in scalars if scalar.key not in self._given]
        self._given |= {scalar.key for scalar in new}
        return new

    def _episodes(self) -> Iterator[Scalar]:
        for number, row in self.run.ledger.episodes_since(self._rows):
            self._rows = number
            if row.purpose is not Purpose.SEALED:
                self._robot_s += row.robot_s
                self._execute_s += row.execute_s
            if row.outcome in JUDGED:
                yield from self._judged(row)
            if (row.purpose, row.policy, row.round) == (Purpose.EVALUATION, FIRST, 0):
                yield from self._started()

    def _judged(self, row: EpisodeRow) -> Iterator[Scalar]:
        if row.purpose is Purpose.SEALED:
            self._sealed.setdefault(row.round, _Tally()).add(row, self._robot_s)
        elif row.purpose is Purpose.EVALUATION:
            one = _Judged(row.outcome is Outcome.SUCCESS, self._robot_s, row.committed_at)
            self._evaluated.setdefault((row.policy, row.round), []).append(one)
        elif row.purpose is Purpose.COLLECTION:
            yield from self._collected(row)

    def _started(self) -> Iterator[Scalar]:
        """The first policy, when its evaluation is over: invalid episodes are run, and not judged.

        A campaign measures it further, under the same round.
        """
        self._start_rows += 1
        if self._start_rows != self.run.asked.get("start_episodes"):
            return
        tally = _tally(self._evaluated.get((FIRST, 0), []))
        if tally.trials:
            yield from _measured("success/incumbent", tally.success, self._robot_s, tally)

    def _collected(self, row: EpisodeRow) -> Iterator[Scalar]:
        block = self._block
        block.tally.add(row, self._robot_s)
        block.staleness += self._staleness(row)
        if block.tally.trials < HUNDRED:
            return
        yield from _measured("collection/success", block.tally.success, self._robot_s, block.tally)
        step, at = round(self._robot_s), block.tally.at
        yield Scalar("collection/staleness", step, block.staleness / HUNDRED, at)
        yield Scalar("run/episodes", step, float(self._rows), at)
        yield Scalar("run/robot_hours", step, self._robot_s / 3600, at)
        yield Scalar("run/executing", step, self._execute_s / max(self._robot_s, 1e-9), at)
        self._block = _Block()

    def _staleness(self, row: EpisodeRow) -> int:
        """Return how far behind the policy was that collected an episode; 0 if that is lost."""
        if row.path not in self._stale:
            self._stale = {row.path: _staleness(self.run.folder / row.path)}
        behind = self._stale[row.path]
        return behind[row.index] if row.index < len(behind) else 0

    def _incumbents(self, rounds: Sequence[RoundRow], last: bool) -> Iterator[Scalar]:
        """The incumbent at the end of each round, and of the run: it may be measured further."""
        at = max((seen[-1].at for seen in self._evaluated.values()), default=0.0)
        for row in rounds:
            if row.trials:
                when = _Tally(robot_s=row.robot_s, at=at)
                yield from _measured("success/incumbent", row.success, row.robot_s, when)
                yield Scalar("run/round", round(row.robot_s), float(row.number), at)
        if rounds and last:
            total = _Tally()
            for (policy, _), seen in self._evaluated.items():
                if policy == rounds[-1].policy:
                    tally = _tally(seen)
                    total.successes += tally.successes
                    total.trials += tally.trials
                    total.robot_s, total.at = max(
                        (total.robot_s, total.at), (tally.robot_s, tally.at)
                    )
            if total.trials > rounds[-1].trials:
                yield from _measured("success/incumbent", total.success, total.robot_s, total)

    def _candidates(self, rounds: Sequence[RoundRow], last: bool) -> Iterator[Scalar]:
        """Each candidate by its own evaluations, once they are over and all are recorded.

        In a loop they are over when its round is: one that was decided may be measured further, and
        so may one that is the incumbent then, which no longer counts here. A campaign's experiments
        have no such end, and a decision is in the record before the last episodes that led to it.
        There a candidate waits for the call after the one that met its decision.
        """
        closed = _closed(self.run.ledger.decisions())
        ready, self._closed = closed if last else self._closed, closed
        ends = {row.number: row.robot_s + SAME_S for row in rounds}
        if "campaign" in self.run.config:
            ends = {policy.round: math.inf for policy in self.run.ledger.policies()}
        elif not last:
            ready = closed
        for policy in self.run.ledger.policies():
            if policy.name not in ready or policy.name == FIRST:
                continue
            until = ends.get(policy.round, math.inf if last else 0.0)
            tally = _tally(self._evaluated.get((policy.name, policy.round), []), until)
            if tally.trials:
                yield from _measured("success/candidate", tally.success, tally.robot_s, tally)

    def _examinations(self) -> Iterator[Scalar]:
        for row in self.run.ledger.sealed():
            tally = self._sealed.get(row.attempt)
            if tally and tally.trials >= row.trials:
                yield from _measured("success/sealed", row.success, tally.robot_s, tally)


def _measured(name: str, success: Estimate, robot_s: float, when: _Tally) -> Iterator[Scalar]:
    """A success rate and its 95% interval."""
    values = {name: success.rate, f"{name}_low": success.low, f"{name}_high": success.high}
    for each, value in values.items():
        if math.isfinite(value):
            yield Scalar(each, round(robot_s), value, when.at)


def _tally(seen: Iterable[_Judged], until: float = math.inf) -> _Tally:
    """Count judged episodes, in their order, up to a robot time of the run [s]."""
    tally = _Tally()
    for one in seen:
        if one.robot_s <= until:
            tally.take(one)
    return tally


def _closed(decisions: Iterable[LogEntry]) -> set[str]:
    return {each.candidate for each in decisions if each.kind in CLOSING and each.candidate}


def _staleness(batch: Path) -> list[int]:
    """Return the staleness of each episode of a batch; nothing if it cannot be read."""
    try:
        about = read_attributes(batch)["episodes"]
        return [int(each.get("staleness", 0)) for each in about]
    except (OSError, KeyError, OverflowError, TypeError, ValueError):
        return []
