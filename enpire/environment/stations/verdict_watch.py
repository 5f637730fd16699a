"""Signs that verdicts are not made of an episode's own evidence, or that no policy had a part."""

from __future__ import annotations

import logging
from copy import copy

import numpy as np

from enpire.environment.core.faults import TOO_LONG, call_within
from enpire.environment.core.task import Evidence, Task
from enpire.types import Outcome, Verdict

LOG = logging.getLogger(__name__)
AGAIN = 3  # verdicts after which the first one is asked for again
FEWEST = 4  # episodes that are not over at once by accident


class VerdictWatch:
    """Asks for verdicts of a task again, and tells of failures without a reason.

    What a verdict is made of besides its evidence shows in one of two ways: the first evidence is
    judged otherwise in later episodes, or a task that has judged nothing yet judges otherwise.
    """

    def __init__(self, task: Task) -> None:
        """Verdicts are those of `task`."""
        self._task = task
        self._fresh: Task | None = None  # as it was before its first verdict
        self._evidence: Evidence | None = None  # of the first verdict by sensors
        self._first: Verdict | None = None
        self._again = self._all = self._short = 0
        self._told: set[str] = set()

    def begins(self) -> None:
        """An episode is about to be verified."""
        if self._fresh is None:
            self._fresh = copy(self._task)

    def judged(self, evidence: Evidence, verdict: Verdict) -> None:
        """`verify` has judged this evidence so.

        Told is a task that judges the first evidence otherwise than it did then, or this evidence
        otherwise than if it were the first.
        """
        if self._first is None or self._evidence is None or self._fresh is None:
            self._evidence, self._first = evidence, verdict
            return
        if self._again == AGAIN:
            return
        self._again += 1
        for task, kept, before in (
            (self._task, self._evidence, self._first),
            (copy(self._fresh), evidence, verdict),
        ):
            other = _verdict(task, kept)
            if _measures(other) != _measures(before):
                self._again = AGAIN  # once is enough
                self._tell(
                    f"{task.folder / 'task.py'}: verify judges the same evidence otherwise in "
                    f"another episode ({_shown(before)}; then {_shown(other)}): by what it kept, "
                    "at random, or by a clock? A verdict is of its evidence alone"
                )
                return

    def executed(self, periods: int, verdict: Verdict) -> None:
        """An episode was judged so, after so many periods of execution."""
        where = self._task.folder / "task.py"
        self._all += 1
        self._short += periods <= 1
        if self._short == self._all == FEWEST:
            self._tell(
                f"{where}: looks_done is true at once in each of {self._all} episodes, before a "
                "policy has done anything: ask more of it"
            )
        if (
            verdict.outcome is Outcome.FAILURE
            and verdict.predicates
            and not (verdict.failed or verdict.reason or verdict.stage)
        ):
            self._tell(
                f"{where}: a verdict is a failure, though all its predicates hold "
                f"({verdict.predicates[0].name} among them), and gives no reason: turned over?"
            )

    def _tell(self, text: str) -> None:
        if text not in self._told:
            self._told.add(text)
            LOG.warning("%s", text)


def _verdict(task: Task, evidence: Evidence) -> Verdict:
    return call_within(TOO_LONG, lambda: task.verify(evidence), task.folder)


def _measures(verdict: Verdict) -> tuple[object, ...]:
    """Return what a verdict stands on, for comparison: what is no number is like itself."""
    values = [np.nan_to_num(float(each.value), nan=1e300) for each in verdict.predicates]
    return verdict.outcome, tuple(values)


def _shown(verdict: Verdict) -> str:
    measures = ", ".join(f"{each.name} {each.value:.4g}" for each in verdict.predicates[:2])
    return f"{verdict.outcome}, {measures}" if measures else str(verdict.outcome)
