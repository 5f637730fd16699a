"""What critics expect along an episode: of what was carried out, and of the base's own chunks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from enpire.observe.report.drawing.svg import LinearScale, drawing, label, line, path, ticks

if TYPE_CHECKING:
    from enpire.observe.critic_values import CriticValues

HEIGHT, TOP, BASE = 170.0, 10.0, 126.0  # [px]
LEFT, RIGHT = 44.0, 12.0  # margins [px]


def critic_chart(found: CriticValues, width: float) -> str:
    """Draw them over control periods, `width` pixels wide; the band is where critics disagree."""
    chosen, spread, base, _ = found.values.T
    low = min(0.0, float((chosen - spread).min()), float(base.min()))
    high = max(low + 1e-9, float((chosen + spread).max()), float(base.max()))
    x = LinearScale(0.0, max(float(found.periods[-1]), 1.0), LEFT, width - RIGHT)
    y = LinearScale(low, high, BASE, TOP)
    across = [x(float(at)) for at in found.periods]
    upper = [(at, y(float(v))) for at, v in zip(across, chosen + spread, strict=True)]
    lower = [(at, y(float(v))) for at, v in zip(across, chosen - spread, strict=True)]
    parts = [path([*upper, *lower[::-1]], "spread", closed=True)]
    for value in ticks(low, high, 4):
        parts.append(line((LEFT, y(value)), (width - RIGHT, y(value)), "grid"))
        parts.append(label(LEFT - 6, y(value) + 4, f"{value:.3g}", "tick", "end"))
    for name, values in (("base", base), ("chosen", chosen)):
        places = [(at, y(float(v))) for at, v in zip(across, values, strict=True)]
        parts.append(path(places, name))
    for value in ticks(0.0, float(found.periods[-1]), 6):
        parts.append(label(x(value), BASE + 18, f"{value:.0f}", "tick", "middle"))
    parts.append(label((LEFT + width) / 2, HEIGHT - 6, "control periods", "tick", "middle"))
    return drawing(width, HEIGHT, f"values of {len(across)} decisions by {found.policy}", parts)
