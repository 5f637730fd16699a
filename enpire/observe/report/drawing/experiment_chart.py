"""A campaign's experiments as a tree, each with its effect and the 95% interval of it."""

from __future__ import annotations

from collections.abc import Sequence

from enpire.observe.report.drawing.svg import (
    LinearScale,
    drawing,
    element,
    group,
    label,
    line,
    tick_text,
    ticks,
)
from enpire.observe.report.experiments import ExperimentNode, TreeRow, tree_rows

ROW, INDENT = 28.0, 18.0  # [px]
TOP, BOTTOM = 8.0, 42.0  # margins [px]
LETTER = 7.0  # width of one, roughly [px]


def experiment_chart(experiments: Sequence[ExperimentNode], width: float) -> str:
    """Draw the tree at the left and the effects at the right, `width` pixels wide."""
    rows = tree_rows(experiments)
    split = width * 0.52
    height = TOP + len(rows) * ROW + BOTTOM
    ends = [
        abs(b) for row in rows if row.node.effect is not None for b in (row.node.low, row.node.high)
    ]
    reach = max(0.05, min(1.0, max(ends, default=0.2)))
    x = LinearScale(-reach, reach, split, width - 14)
    base = height - BOTTOM
    parts = []
    for tick in (values := ticks(-reach, reach, 5)):
        parts.append(line((x(tick), TOP), (x(tick), base), "grid"))
        text = "0" if abs(tick) < 1e-9 else f"{'+' if tick > 0 else ''}{tick_text(tick, values)}"
        parts.append(label(x(tick), base + 17, text, "tick", "middle"))
    parts.append(line((x(0.0), TOP), (x(0.0), base), "axis"))
    title = "effect on the success rate" if width > 600 else "effect"
    parts.append(label((x.start + x.end) / 2, height - 6, title, "tick", "middle"))
    for at, row in enumerate(rows):
        parts.append(_row(row, TOP + (at + 0.5) * ROW, split, x))
    return drawing(width, height, f"{len(rows)} experiments, and what each one changed", parts)


def _row(row: TreeRow, middle: float, split: float, x: LinearScale) -> str:
    node = row.node
    parts = []
    for level, more in enumerate(row.open):
        if more:
            at = 8 + level * INDENT
            parts.append(line((at, middle - ROW / 2), (at, middle + ROW / 2), "branch"))
    at = 8 + row.depth * INDENT
    end = middle if row.last else middle + ROW / 2
    parts.append(line((at, middle - ROW / 2), (at, end), "branch"))
    parts.append(line((at, middle), (at + 9, middle), "branch"))
    parts.append(element("circle", cx=at + 12, cy=middle, r=4.5, class_=f"state {node.state}"))
    begin = at + 22
    room = int((split - 12 - begin) / LETTER)
    words = f"{node.id}  {node.change}" if room > 30 else node.id
    parts.append(label(begin, middle + 4, shortened(words, room), "name"))
    if node.effect is not None:
        low, high = (min(max(b, x.low), x.high) for b in (node.low, node.high))
        parts.append(line((x(low), middle), (x(high), middle), f"whisker state {node.state}"))
        dot = x(min(max(node.effect, x.low), x.high))
        parts.append(element("circle", cx=dot, cy=middle, r=4.5, class_=f"state {node.state}"))
    elif node.state in ("failed", "dropped"):
        parts.append(label(x(0.0) + 8, middle + 4, f"{node.state} untried", "tick"))
    effect = "" if node.effect is None else f", {node.measured}"
    return group(parts, f"{node.id} by {node.agent}, {node.state}{effect}: {node.change}")


def shortened(words: str, most: int) -> str:
    """Return words cut to so many characters, with a mark where something was left out."""
    return words if len(words) <= most else words[: max(most - 1, 1)].rstrip() + "…"
