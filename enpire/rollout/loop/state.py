"""Where a loop is, for whoever shows it."""

from __future__ import annotations

from dataclasses import dataclass, field

from enpire.rollout.evaluation.statistics import estimate
from enpire.store import SealedRow
from enpire.types import Estimate


@dataclass(slots=True)
class LoopState:
    """The state of a loop, for whoever shows it.

    deciding: what the episodes of now are to decide, and how it stands; empty where nothing is.
    """

    doing: str = "starting"
    round: int = 0
    incumbent: str = ""
    success: Estimate = field(default_factory=lambda: estimate(0, 0))
    done: int = 0
    planned: int = 0
    reached: bool = False
    sealed: SealedRow | None = None
    sealed_attempts: int = 0
    deciding: str = ""

    def begin(self, doing: str, planned: int, done: int = 0) -> None:
        """A step of so many episodes begins, of which some are done."""
        self.doing, self.done, self.planned = doing, done, planned
        self.deciding = ""

    def show_success(self, name: str, success: Estimate) -> None:
        """Take the success of the incumbent, or of the first policy before there is one."""
        if self.incumbent in ("", name):
            self.success = success

    def take(self, row: SealedRow, passed: bool) -> None:
        """A sealed evaluation is over."""
        self.sealed_attempts = max(self.sealed_attempts, row.attempt)
        if passed:
            self.reached, self.sealed = True, row
