"""A row of the table that `enpire task check` gives."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from enpire.rollout.evaluation.statistics import estimate


@dataclass(frozen=True, slots=True)
class CheckRow:
    """One thing counted, held against its bar.

    hits of trials, of what `counted` says. passed: None where there is no bar. detail: the worst
    case, or what to do.
    """

    check: str
    counted: str
    hits: int
    trials: int
    bar: str
    passed: bool | None
    detail: str = ""

    @property
    def measured(self) -> str:
        """Count and rate with its 95% interval, for a person."""
        if not self.trials:
            return "nothing measured"
        e = estimate(self.hits, self.trials)
        return f"{self.hits} of {self.trials}, {e.rate:.3f} [{e.low:.3f}, {e.high:.3f}]"

    @property
    def mark(self) -> str:
        """`pass`, `FAIL`, or a dash where there is no bar."""
        return "-" if self.passed is None else "pass" if self.passed else "FAIL"

    def as_json(self) -> dict[str, Any]:
        """Return it as plain values."""
        e = estimate(self.hits, self.trials)
        return {
            "check": self.check,
            "counted": self.counted,
            "k": self.hits,
            "n": self.trials,
            "ci95": [e.low, e.high],
            "bar": self.bar,
            "passed": self.passed,
            "detail": self.detail,
        }
