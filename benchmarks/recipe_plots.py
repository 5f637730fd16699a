"""Figures of the bench of recipes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from benchmarks.recipe_table import GOALS, RecipeLine
from benchmarks.recipes import CellResult
from enpire.observe.plots import Trace, success_against


def success_against_hours(of: Sequence[RecipeLine], path: Path) -> None:
    """One task: each recipe's success against robot-hours.

    Raises:
        OSError: the file cannot be written.
    """

    def trace(result: CellResult) -> Trace:
        hours, rates = zip(*((h, e.rate) for h, e in result.curve), strict=True)
        return Trace(hours, rates, result.sealed.rate)

    success_against(
        {line.recipe: [trace(result) for result in line.results] for line in of},
        "robot-hours, sealed evaluations apart",
        f"{of[0].task}: incumbents by round, and on sealed seeds (diamonds)",
        GOALS,
        path,
    )
