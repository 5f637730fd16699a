"""Failures over two entries of the initial condition."""

from __future__ import annotations

import numpy as np

from enpire.observe.report.conditions import ConditionMap
from enpire.observe.report.drawing.svg import (
    LinearScale,
    bottom_ticks,
    drawing,
    element,
    group,
    label,
    line,
    tick_text,
    ticks,
)

CELLS = 6  # a side
MARKS = 500  # of each outcome; more would hide each other
LEFT, RIGHT, TOP, BOTTOM = 58.0, 14.0, 10.0, 46.0  # margins [px]
TALLEST = 420.0  # [px]


def condition_chart(conditions: ConditionMap, width: float) -> str:
    """Draw where failures are, `width` pixels wide: shaded by their share, and each one marked."""
    height = min(width * 0.8, TALLEST)
    (x_low, y_low), (x_high, y_high) = (
        conditions.places.min(axis=0).tolist(),
        conditions.places.max(axis=0).tolist(),
    )
    x = LinearScale(x_low, x_high, LEFT, width - RIGHT)
    y = LinearScale(y_low, y_high, height - BOTTOM, TOP)
    parts = [*_cells(conditions, x, y), *_marks(conditions, x, y), *_axes(conditions, x, y, height)]
    first, second = conditions.names
    words = f"failures over {first} and {second}, {len(conditions.won)} evaluations"
    return drawing(width, height, words, parts)


def _cells(conditions: ConditionMap, x: LinearScale, y: LinearScale) -> list[str]:
    places, won = conditions.places, conditions.won
    across, up = (np.linspace(scale.low, scale.high, CELLS + 1) for scale in (x, y))
    bins = [across, up]
    every, _, _ = np.histogram2d(places[:, 0], places[:, 1], bins=bins)
    failed, _, _ = np.histogram2d(places[~won, 0], places[~won, 1], bins=bins)
    parts = []
    worst = float((failed / np.maximum(every, 1.0)).max()) or 1.0  # is drawn darkest
    for i in range(CELLS):
        for j in range(CELLS):
            count, bad = int(every[i, j]), int(failed[i, j])
            if not count:
                continue
            left, right = x(float(across[i])), x(float(across[i + 1]))
            low, high = y(float(up[j])), y(float(up[j + 1]))
            cell = element(
                "rect",
                x=left + 0.5,
                y=high + 0.5,
                width=right - left - 1,
                height=low - high - 1,
                class_="cell",
                style=f"fill-opacity:{0.04 + 0.6 * bad / count / worst:.2f}",
            )
            parts.append(group([cell], f"{bad} of {count} failed here"))
    return parts


def _marks(conditions: ConditionMap, x: LinearScale, y: LinearScale) -> list[str]:
    """A dot for a success, a cross for a failure; evenly thinned out where there are too many."""
    parts = []
    for good in (True, False):
        places = conditions.places[conditions.won == good]
        step = max(1, -(-len(places) // MARKS))
        for a, b in places[::step].tolist():
            if good:
                parts.append(element("circle", cx=x(a), cy=y(b), r=1.6, class_="dot"))
            else:
                d = f"M{x(a) - 3:.1f} {y(b) - 3:.1f}l6 6m0-6l-6 6"
                parts.append(element("path", d=d, class_="cross"))
    return parts


def _axes(conditions: ConditionMap, x: LinearScale, y: LinearScale, height: float) -> list[str]:
    base, (first, second) = height - BOTTOM, conditions.names
    parts = bottom_ticks(x, base, 5)
    for tick in (values := ticks(y.low, y.high, 5)):
        parts.append(line((LEFT - 5, y(tick)), (LEFT, y(tick)), "axis"))
        parts.append(label(LEFT - 8, y(tick) + 4, tick_text(tick, values), "tick", "end"))
    parts.append(label((x.start + x.end) / 2, height - 6, first, "tick strong", "middle"))
    middle = (y.start + y.end) / 2
    parts.append(
        element(
            "text",
            second,
            x=12.0,
            y=middle,
            class_="tick strong",
            text_anchor="middle",
            transform=f"rotate(-90 12 {middle:.1f})",
        )
    )
    return parts
