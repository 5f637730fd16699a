"""What all charts are made of: elements, scales, axes."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape

Attribute = str | float
Place = tuple[float, float]


@dataclass(frozen=True, slots=True)
class LinearScale:
    """Maps values from [low, high] to pixels from `start` to `end`."""

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        """Return the place of a value [px]."""
        span = self.high - self.low
        share = (value - self.low) / span if span else 0.5
        return self.start + share * (self.end - self.start)


def element(tag: str, content: str = "", **attributes: Attribute) -> str:
    """Return one element; content: SVG text, which is not escaped.

    `class_` is `class`, and `_` in a name is `-`.
    """
    listed = "".join(
        f' {name.rstrip("_").replace("_", "-")}="{_attribute(value)}"'
        for name, value in attributes.items()
    )
    return f"<{tag}{listed}>{content}</{tag}>" if content else f"<{tag}{listed}/>"


def label(x: float, y: float, words: str, class_: str = "", anchor: str = "start") -> str:
    """Return a line of text whose `anchor` (start, middle, end) is at (x, y)."""
    return element("text", escape(words), x=x, y=y, class_=class_, text_anchor=anchor)


def line(begin: Place, end: Place, class_: str) -> str:
    """Return a straight line."""
    (x1, y1), (x2, y2) = begin, end
    return element("line", x1=x1, y1=y1, x2=x2, y2=y2, class_=class_)


def path(places: Iterable[Place], class_: str, closed: bool = False) -> str:
    """Return a path through some places."""
    d = "M" + "L".join(f"{number(x)} {number(y)}" for x, y in places) + ("Z" if closed else "")
    return element("path", d=d, class_=class_)


def group(parts: Iterable[str], title: str = "", class_: str = "") -> str:
    """Return elements that belong together; title: shown when a pointer rests on them."""
    tooltip = element("title", escape(title)) if title else ""
    return element("g", tooltip + "".join(parts), **({"class_": class_} if class_ else {}))


def drawing(width: float, height: float, words: str, parts: Iterable[str]) -> str:
    """Return a whole drawing; words: what it shows, for who cannot see it."""
    box = f"0 0 {number(width)} {number(height)}"
    attributes = {"viewBox": box, "role": "img", "aria_label": words}
    return element("svg", "".join(parts), **attributes, width=width, height=height)


def ticks(low: float, high: float, most: int) -> list[float]:
    """Return at most so many round numbers from `low` to `high`, at equal steps.

    Steps are 1, 2 or 5 times a power of ten.
    """
    span = high - low
    if not (math.isfinite(span) and span > 0.0 and most > 1):
        return [low]
    rough = span / (most - 1)
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(
        m * power for m in (1.0, 2.0, 5.0, 10.0, 20.0) if _count(low, high, m * power) <= most
    )
    first = math.ceil(low / step - 1e-9)
    return [k * step for k in range(first, first + _count(low, high, step))]


def tick_text(value: float, values: Sequence[float]) -> str:
    """Return a tick's number with as many digits as its axis needs."""
    step = abs(values[1] - values[0]) if len(values) > 1 else abs(value) or 1.0
    digits = max(0, -math.floor(math.log10(step) + 1e-9))
    return f"{value:.{digits}f}" if digits < 7 else f"{value:g}"


def bottom_ticks(x: LinearScale, base: float, most: int) -> list[str]:
    """Draw at most so many ticks, with their numbers, below an axis at the height `base`."""
    parts = []
    for tick in (values := ticks(x.low, x.high, most)):
        parts.append(line((x(tick), base), (x(tick), base + 5), "axis"))
        parts.append(label(x(tick), base + 19, tick_text(tick, values), "tick", "middle"))
    return parts


def diamond(x: float, y: float, class_: str) -> str:
    """Return a diamond around (x, y), by which sealed evaluations are marked."""
    return path([(x, y - 7), (x + 7, y), (x, y + 7), (x - 7, y)], class_, closed=True)


def number(value: float) -> str:
    """Return a coordinate, to a tenth of a pixel."""
    return f"{value:.1f}".removesuffix(".0")


def _attribute(value: Attribute) -> str:
    return escape(value) if isinstance(value, str) else number(value)


def _count(low: float, high: float, step: float) -> int:
    return math.floor(high / step + 1e-9) - math.ceil(low / step - 1e-9) + 1
