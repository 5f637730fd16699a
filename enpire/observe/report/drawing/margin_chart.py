"""By how much a predicate failed: how many failures ended how far from the threshold."""

from __future__ import annotations

import numpy as np

from enpire.observe.report.drawing.svg import LinearScale, drawing, element, group, label, line
from enpire.observe.report.failures import PredicateMargins

HEIGHT, TOP, BASE = 58.0, 8.0, 40.0  # [px]
SIDE = 6.0  # margins left and right [px]
BINS = 30


def margin_chart(margins: PredicateMargins, width: float) -> str:
    """Draw the distances to the threshold, `width` pixels wide; the threshold is at the right."""
    values = np.array(margins.margins)
    low, high = (float(values.min()), float(values.max())) if len(values) else (-1.0, 0.0)
    low, high = min(low, 0.0), max(high, 0.0)
    if low == high:
        low = -1.0
    room = 0.04 * (high - low)
    x = LinearScale(low - room, high + room, SIDE, width - SIDE)
    counts, edges = np.histogram(values, bins=BINS, range=(low, high))
    most = int(counts.max()) if len(values) else 1
    y = LinearScale(0.0, max(most, 1), BASE, TOP)
    parts = []
    for count, begin, end in zip(counts.tolist(), edges[:-1], edges[1:], strict=True):
        if count:
            left, right = x(float(begin)), x(float(end))
            bar = element(
                "rect",
                x=left + 0.5,
                y=y(count),
                width=max(right - left - 1, 1.5),
                height=BASE - y(count),
                class_="margin",
            )
            tooltip = f"{count} failed by {-end:.3g} to {-begin:.3g} {margins.unit}"
            parts.append(group([bar], tooltip))
    parts.append(line((SIDE, BASE), (width - SIDE, BASE), "axis"))
    parts.append(line((x(0.0), TOP - 4), (x(0.0), BASE + 4), "threshold"))
    parts.append(label(x(0.0), HEIGHT - 4, "threshold", "tick", "end"))
    parts.append(label(SIDE, HEIGHT - 4, f"{low:.3g} {margins.unit}", "tick"))
    words = f"{margins.name}: margins of {len(values)} failures"
    return drawing(width, HEIGHT, words, parts)
