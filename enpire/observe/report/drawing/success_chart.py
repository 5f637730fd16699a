"""Success against robot-hours, every rate with its 95% interval."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from enpire.observe.report.drawing.svg import (
    LinearScale,
    bottom_ticks,
    diamond,
    drawing,
    element,
    group,
    label,
    line,
    path,
)
from enpire.observe.report.success import (
    MeasurementKind,
    SuccessCurve,
    SuccessPoint,
    VersionWindow,
)

HOUR = 3600.0
HEIGHT = 340.0
LEFT, RIGHT, TOP, BOTTOM = 44.0, 18.0, 22.0, 44.0  # margins [px]
APART = 70.0  # between labels of policies [px]
LETTER, LINE = 7.0, 13.0  # width and height of a letter of a label, or a little more [px]


@dataclass(frozen=True, slots=True)
class Label:
    """Words in a drawing. x, y: of their baseline, at the `anchor` of an SVG text [px]."""

    x: float
    y: float
    words: str
    class_: str
    anchor: str

    @property
    def left(self) -> float:
        """Where they begin [px]."""
        part = {"start": 0.0, "middle": 0.5, "end": 1.0}[self.anchor]
        return self.x - part * LETTER * len(self.words)

    def hides(self, other: Label) -> bool:
        """Whether both cannot be read, as they are in the same place."""
        width, others = LETTER * len(self.words), LETTER * len(other.words)
        beside = self.left >= other.left + others or other.left >= self.left + width
        return not beside and abs(self.y - other.y) < LINE

    def drawn(self) -> str:
        """Return them as SVG."""
        return label(self.x, self.y, self.words, self.class_, self.anchor)


def success_chart(curve: SuccessCurve, width: float) -> str:
    """Draw the course of success, `width` pixels wide."""
    end = curve.robot_s / HOUR or 1.0
    x = LinearScale(0.0, end * 1.02, LEFT, width - RIGHT)
    y = LinearScale(0.0, 1.0, HEIGHT - BOTTOM, TOP)
    names = _names(curve, x, y)
    parts = [
        *axes(x, y, width),
        *_target(curve.target, y, width, names),
        *_versions(curve.versions, x, y),
        *_steps(curve.of(MeasurementKind.INCUMBENT), x, y),
        *(_mark(point, x, y) for point in curve.of(MeasurementKind.CANDIDATE)),
        *(_mark(point, x, y) for point in curve.of(MeasurementKind.INCUMBENT)),
        *(_mark(point, x, y) for point in curve.of(MeasurementKind.SEALED)),
        *(name.drawn() for name in names),
    ]
    words = f"success against robot-hours, {len(curve.points)} measurements"
    return drawing(width, HEIGHT, words, parts)


def axes(x: LinearScale, y: LinearScale, width: float) -> list[str]:
    """Draw the axes of success against robot-hours."""
    parts = []
    for rate in (0.0, 0.25, 0.5, 0.75, 1.0):
        parts.append(line((LEFT, y(rate)), (width - RIGHT, y(rate)), "grid"))
        parts.append(label(LEFT - 8, y(rate) + 4, f"{rate:.0%}", "tick", "end"))
    parts += bottom_ticks(x, y(0.0), max(5, int(width / 110)))
    parts.append(line((LEFT, y(0.0)), (width - RIGHT, y(0.0)), "axis"))
    under = (LEFT + width - RIGHT) / 2
    title = "robot-hours, sealed evaluations apart"
    parts.append(label(under, HEIGHT - 6, title, "tick", "middle"))
    return parts


def _target(
    target: float | None, y: LinearScale, width: float, names: Sequence[Label]
) -> list[str]:
    """The line to be reached, and its label where no name is."""
    if target is None:
        return []
    right, words, class_ = width - RIGHT, f"target {target:.3g}", "tick target-name"
    places = [
        Label(x, y(target) + down, words, class_, anchor)
        for down in (16, -6)
        for x, anchor in ((LEFT + 4, "start"), (right, "end"))
    ]
    free = [place for place in places if not any(place.hides(name) for name in names)]
    return [
        line((LEFT, y(target)), (right, y(target)), "target"),
        (free or places)[0].drawn(),
    ]


def _versions(windows: tuple[VersionWindow, ...], x: LinearScale, y: LinearScale) -> list[str]:
    """The band of an online learner's versions, and a line through their rates."""
    if not windows:
        return []
    at = [x(window.robot_s / HOUR) for window in windows]
    low = [(a, y(w.success.low)) for a, w in zip(at, windows, strict=True)]
    high = [(a, y(w.success.high)) for a, w in zip(at, windows, strict=True)]
    rates = [(a, y(w.success.rate)) for a, w in zip(at, windows, strict=True)]
    dots = [
        group(
            [element("circle", cx=a, cy=b, r=2.5, class_="version-dot")],
            f"{w.first} to {w.last}, while exploring: {w.success}",
        )
        for (a, b), w in zip(rates, windows, strict=True)
    ]
    band = path([*low, *reversed(high)], "version-band", closed=True)
    return [band, path(rates, "version-line"), *dots]


def _steps(points: list[SuccessPoint], x: LinearScale, y: LinearScale) -> list[str]:
    """The incumbent's rate, which holds until the next one is known."""
    if not points:
        return []
    places = [(x(points[0].robot_s / HOUR), y(points[0].success.rate))]
    for point in points[1:]:
        at = x(point.robot_s / HOUR)
        places += [(at, places[-1][1]), (at, y(point.success.rate))]
    places.append((x.end, places[-1][1]))
    return [path(places, "incumbent-line")]


def _mark(point: SuccessPoint, x: LinearScale, y: LinearScale) -> str:
    at, rate = x(point.robot_s / HOUR), y(point.success.rate)
    low, high = y(point.success.low), y(point.success.high)
    kind = str(point.kind) + (" passed" if point.passed else "")
    whisker = [
        line((at, low), (at, high), f"whisker {kind}"),
        line((at - 3, low), (at + 3, low), f"whisker {kind}"),
        line((at - 3, high), (at + 3, high), f"whisker {kind}"),
    ]
    if point.kind is MeasurementKind.SEALED:
        shape = diamond(at, rate, f"mark {kind}")
    else:
        radius = 4.5 if point.kind is MeasurementKind.INCUMBENT else 4.0
        shape = element("circle", cx=at, cy=rate, r=radius, class_=f"mark {kind}")
    return group([*whisker, shape], f"{point.policy}, {point.kind}: {point.success}")


def _names(curve: SuccessCurve, x: LinearScale, y: LinearScale) -> list[Label]:
    """Names of incumbents where they change, as far as there is room."""
    names: list[Label] = []
    last, until = "", -APART
    for point in curve.of(MeasurementKind.INCUMBENT):
        at = x(point.robot_s / HOUR)
        if point.policy == last or at - until < APART:
            continue
        last, until = point.policy, at
        if point is curve.of(MeasurementKind.INCUMBENT)[0] and at - x.start < APART:
            below, above = y(point.success.low) + 15, y(point.success.high) - 6
            place = below if below < y(0.0) else above
            names.append(Label(max(at, x.start + 24), place, point.policy, "name", "middle"))
        else:  # left of where the line begins or rises
            place = min(max(y(point.success.rate) + 4, TOP + 16), y(0.0) - 6)
            names.append(Label(at - 9, place, point.policy, "name", "end"))
    return names
