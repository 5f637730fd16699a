"""Figures for the documents."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import matplotlib as mpl
from matplotlib.figure import Figure

from enpire.observe.recipe_bench import GOALS, Line

SIZE = (7.0, 4.2)  # inches


def success_against_hours(of: Sequence[Line], path: Path) -> None:
    """One task: each recipe's success against robot-hours, a thin line a seed, sealed ones marked.

    Raises:
        OSError: the file cannot be written.
    """
    with mpl.rc_context({"svg.hashsalt": "enpire", "font.size": 9}):
        figure = Figure(figsize=SIZE, layout="constrained")
        axes = figure.subplots()
        colours = mpl.colormaps["tab20"].colors  # type: ignore[attr-defined]
        for line, colour in zip(of, colours, strict=False):
            for i, result in enumerate(line.results):
                hours, success = zip(*((h, e.rate) for h, e in result.curve), strict=True)
                label = line.recipe if i == 0 else None
                axes.plot(hours, success, color=colour, linewidth=1.2, marker=".", label=label)
                axes.plot(hours[-1], result.sealed.rate, "D", color=colour, markersize=4)
        for goal in GOALS:
            axes.axhline(goal, color="0.8", linewidth=0.8, zorder=0)
        axes.set_xlabel("robot-hours, sealed evaluations apart")
        axes.set_ylabel("success")
        axes.set_title(f"{of[0].task}: incumbents by round, and on sealed seeds (diamonds)")
        axes.set_ylim(0, 1.02)
        axes.set_xlim(left=0)
        axes.legend(fontsize=7, ncols=2, loc="lower right")
        figure.savefig(path, dpi=130)
