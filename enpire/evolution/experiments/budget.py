"""What a campaign may spend: set aside before an experiment begins, settled when it has ended."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from enpire.evolution.experiments.events import ModelUse


@dataclass(frozen=True, slots=True)
class Ceilings:
    """Limits of a campaign, over all its starts; an unlimited one is infinite, never None."""

    # Of all stations, sealed evaluations aside. Time on the clock is `Budget`'s.
    robot_s: float = math.inf
    tokens: float = math.inf
    dollars: float = math.inf
    experiments: float = math.inf

    def used_up(self, used: ModelUse) -> str | None:
        """Why agents have to stop, or None."""
        if used.tokens >= self.tokens:
            return f"--max-tokens is used up ({used.tokens})"
        if used.dollars >= self.dollars:
            return f"--max-dollars is used up ({used.dollars:.2f})"
        return None

    def refuses(self, experiments: int, robot_s: float, reserved_s: float, own_s: float) -> str:
        """Why one more experiment may not begin; empty if it may.

        experiments: so far. robot_s: used. reserved_s: set aside for those under way. own_s: what
        this one may take.
        """
        if experiments >= self.experiments:
            return f"--max-experiments is used up ({experiments})"
        if robot_s + reserved_s + own_s > self.robot_s:
            return (
                f"--max-robot-hours does not leave enough for one more experiment: "
                f"{robot_s / 3600:.2f} h are used, {reserved_s / 3600:.2f} h set aside for those "
                f"under way, and one takes about {own_s / 3600:.2f} h"
            )
        return ""


def budget_left(parts: Mapping[str, float]) -> str:
    """What is left of budgets by their units, for an agent; what is infinite is no limit."""
    known = [f"{value:.3g} {unit}" for unit, value in parts.items() if math.isfinite(value)]
    return f"Left: {', '.join(known) or 'no limits'}."
