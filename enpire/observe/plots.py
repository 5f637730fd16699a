"""Figures for the documents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

SIZE = (7.0, 4.2)  # inches
FEW = 10  # names, which have a hue each


@dataclass(frozen=True, slots=True)
class Trace:
    """Success of one run against what it had used. sealed: rate at its end, on sealed seeds."""

    at: tuple[float, ...]
    rate: tuple[float, ...]
    sealed: float


def success_against(
    of: Mapping[str, Sequence[Trace]],
    used: str,
    title: str,
    goals: Sequence[float],
    path: Path,
    steps: bool = False,
) -> None:
    """Each name's success against what was used, a thin line a run, sealed ones marked.

    steps: a rate holds until the next one.

    Raises:
        OSError: the file cannot be written.
    """
    import matplotlib as mpl  # half a second, which only who draws has to wait
    from matplotlib.figure import Figure

    with mpl.rc_context({"svg.hashsalt": "enpire", "font.size": 9}):
        figure = Figure(figsize=SIZE, layout="constrained")
        axes = figure.subplots()
        palette = mpl.colormaps["tab10" if len(of) <= FEW else "tab20"]
        colours = palette.colors  # type: ignore[attr-defined]
        style = "steps-post" if steps else "default"
        for (name, traces), colour in zip(of.items(), colours, strict=False):
            for i, trace in enumerate(traces):
                label = name if i == 0 else None
                look = {"color": colour, "linewidth": 1.2, "marker": ".", "drawstyle": style}
                axes.plot(trace.at, trace.rate, label=label, **look)
                axes.plot(trace.at[-1], trace.sealed, "D", color=colour, markersize=4)
        for goal in goals:
            axes.axhline(goal, color="0.8", linewidth=0.8, zorder=0)
        axes.set_xlabel(used)
        axes.set_ylabel("success")
        axes.set_title(title)
        axes.set_ylim(0, 1.02)
        axes.set_xlim(left=0)
        axes.legend(fontsize=7, ncols=2, loc="lower right")
        figure.savefig(path, dpi=130)
