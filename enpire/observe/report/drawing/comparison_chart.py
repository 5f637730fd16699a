"""Success of several runs against robot-hours, on the same axes."""

from __future__ import annotations

from collections.abc import Mapping

from enpire.observe.report.drawing.success_chart import BOTTOM, HEIGHT, HOUR, LEFT, RIGHT, TOP, axes
from enpire.observe.report.drawing.svg import (
    LinearScale,
    Place,
    diamond,
    drawing,
    element,
    group,
    path,
)
from enpire.observe.report.success import MeasurementKind, SuccessCurve

COLOURS = 8  # runs that can be told apart


def comparison_chart(curves: Mapping[str, SuccessCurve], width: float) -> str:
    """Draw the incumbents of each run with their 95% bands, `width` pixels wide.

    curves: by the name of the run, at most `COLOURS`; the n-th has the class `run-n`, from 0.
    """
    end = max((curve.robot_s for curve in curves.values()), default=0.0) / HOUR or 1.0
    x = LinearScale(0.0, end * 1.02, LEFT, width - RIGHT)
    y = LinearScale(0.0, 1.0, HEIGHT - BOTTOM, TOP)
    parts = axes(x, y, width)
    for place, (name, curve) in enumerate(curves.items()):
        parts.append(_run(f"run-{place}", name, curve, x, y))
    words = f"success of {len(curves)} runs against robot-hours"
    return drawing(width, HEIGHT, words, parts)


def _run(class_: str, name: str, curve: SuccessCurve, x: LinearScale, y: LinearScale) -> str:
    points = curve.of(MeasurementKind.INCUMBENT)
    parts = []
    if points:
        until = [*(x(point.robot_s / HOUR) for point in points[1:]), x(curve.robot_s / HOUR)]
        middle: list[Place] = []
        low: list[Place] = []
        high: list[Place] = []
        for point, right in zip(points, until, strict=True):
            left = x(point.robot_s / HOUR)
            for places, rate in (
                (middle, point.success.rate),
                (low, point.success.low),
                (high, point.success.high),
            ):
                places += [(left, y(rate)), (max(left, right), y(rate))]
        parts.append(path([*low, *reversed(high)], "band", closed=True))
        parts.append(path(middle, "line"))
    for point in points:
        dot = element("circle", cx=x(point.robot_s / HOUR), cy=y(point.success.rate), r=3.5)
        parts.append(group([dot], f"{name}, {point.policy}: {point.success}"))
    for point in curve.of(MeasurementKind.SEALED):
        at, rate = x(point.robot_s / HOUR), y(point.success.rate)
        text = f"{name}, {point.policy}, sealed: {point.success}"
        parts.append(group([diamond(at, rate, "sealed")], text))
    return group(parts, class_=class_)
