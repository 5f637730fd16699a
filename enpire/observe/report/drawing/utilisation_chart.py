"""Every station's time, a row each: what share of each moment went to which phase."""

from __future__ import annotations

import math

import numpy as np

from enpire.observe.report.drawing.svg import (
    LinearScale,
    bottom_ticks,
    drawing,
    element,
    group,
    label,
    line,
    path,
)
from enpire.observe.report.utilisation import StationTimeline, Utilisation
from enpire.store import Phase
from enpire.types import FloatArray

STACKED = (Phase.EXECUTE, Phase.VERIFY, Phase.RESET, Phase.ASIDE)  # from below; the rest is idle
ROW, GAP = 26.0, 8.0  # of a station [px]
LEFT, RIGHT, TOP, BOTTOM = 28.0, 46.0, 6.0, 40.0  # margins [px]
HOUR, MINUTE = 3600.0, 60.0


def utilisation_chart(utilisation: Utilisation, width: float) -> str:
    """Draw all stations, `width` pixels wide."""
    stations = utilisation.stations
    height = TOP + len(stations) * (ROW + GAP) + BOTTOM
    unit, name = (HOUR, "hours") if utilisation.end_s > 2 * HOUR else (MINUTE, "minutes")
    x = LinearScale(0.0, utilisation.end_s / unit, LEFT, width - RIGHT)
    parts: list[str] = []
    for at, station in enumerate(stations):
        top = TOP + at * (ROW + GAP)
        parts += _row(station, top, width)
    base = height - BOTTOM
    parts += bottom_ticks(x, base, max(3, int(width / 110)))
    parts.append(line((LEFT, base), (width - RIGHT, base), "axis"))
    under = (LEFT + width - RIGHT) / 2
    parts.append(label(under, height - 4, f"{name} on the stations' clock", "tick", "middle"))
    return drawing(width, height, f"what {len(stations)} stations did when", parts)


def _row(station: StationTimeline, top: float, width: float) -> list[str]:
    long = width - RIGHT - LEFT
    parts = [
        label(LEFT - 8, top + ROW / 2 + 4, str(station.number), "tick", "end"),
        element("rect", x=LEFT, y=top, width=long, height=ROW, class_="phase idle"),
    ]
    columns = max((len(share) for share in station.shares.values()), default=1)
    floor: FloatArray = np.zeros(columns)
    x = LinearScale(0, columns, LEFT, width - RIGHT)
    y = LinearScale(0.0, 1.0, top + ROW, top)
    total = sum(station.seconds.values()) or 1.0
    for phase in STACKED:
        share = station.shares.get(phase)
        if share is None:
            continue
        ceiling = np.minimum(floor + share, 1.0)
        above, below = _outline(ceiling, x, y), _outline(floor, x, y)
        area = path([*above, *reversed(below)], f"phase {phase}", closed=True)
        part = station.seconds[phase] / total
        parts.append(group([area], f"station {station.number}: {phase} {part:.0%} of its time"))
        floor = ceiling
    if not math.isnan(station.mru):
        text = f"{station.mru:.0%}"
        parts.append(label(width - RIGHT + 8, top + ROW / 2 + 4, text, "tick"))
    return parts


def _outline(heights: FloatArray, x: LinearScale, y: LinearScale) -> list[tuple[float, float]]:
    """The upper edge of columns, without corners where nothing changes."""
    places: list[tuple[float, float]] = []
    for column, height in enumerate(heights.tolist()):
        at = y(height)
        if places and abs(places[-1][1] - at) < 0.05:
            places[-1] = (x(column + 1), places[-1][1])
        else:
            places += [(x(column), at), (x(column + 1), at)]
    return places
