"""Twins of an identified station: each episode has arms drawn from what is known of them."""

from __future__ import annotations

import numpy as np

from enpire.twin import Twin, dynamics
from enpire.twin.objects import Thing


class Identified:
    """Draws the arms of a twin whose world has `dynamics`; of another it does nothing."""

    def __init__(self, twin: Twin) -> None:
        """Expand what varies."""
        self._twin, self._fitted = twin, twin.scene.world.dynamics
        if self._fitted is None:
            return
        known = dynamics.parameters(twin.scene)
        self._places = [known.get(name) for name in self._fitted.names]  # None: another task's
        self._latencies: list[dict[str, float]] = [{} for _ in range(twin.stations)]
        self._handled: list[list[tuple[Thing, float]]] = [[] for _ in range(twin.stations)]

    def vary(self, row: int, rng: np.random.Generator) -> None:
        """Draw a station's arms, and what they handle, at the beginning of an episode."""
        if self._fitted is None:
            return
        twin, latencies = self._twin, self._latencies[row]
        self._handled[row].clear()
        for place, value in zip(self._places, self._fitted.draw(rng), strict=True):
            if place is None:
                continue
            if isinstance(place, Thing):
                self._handled[row].append((place, float(value)))
            elif place.kind == dynamics.LATENCY:
                latencies[place.arm.name] = float(value)
            else:
                dynamics.write(twin.scene, place, twin.expand, np.float64(value), row)
        twin.set_const(row)

    def weigh(self, row: int) -> None:
        """Give a station's objects what was drawn for them, in place of what its task varied."""
        if self._fitted is None or not self._handled[row]:
            return
        for thing, value in self._handled[row]:
            dynamics.write(self._twin.scene, thing, self._twin.expand, np.float64(value), row)
        self._twin.set_const(row)

    def delay(self, row: int) -> None:
        """Give a station's servos their latency, once its reset is over: no task's own counts."""
        if self._fitted is None:
            return
        for place in self._places:
            if isinstance(place, dynamics.ParameterPlace) and place.kind == dynamics.LATENCY:
                latency = np.float64(self._latencies[row].get(place.arm.name, 0.0))
                dynamics.write(self._twin.scene, place, self._twin.expand, latency, row)
