"""What is taken to be possible before anything was measured, and the coordinates of the search."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from enpire.twin import Scene, dynamics
from enpire.types import FloatArray

FACTOR = 3.0  # by which a positive parameter may be off: one standard deviation of its logarithm
WIDEST = 20.0  # the same, at most
DAMPING = 0.05  # of a joint whose pack has none: a part of its servo's, one standard deviation
LATENCY, LATENCIES = 0.02, (0.0, 0.1)  # one standard deviation and the range [s]
PAYLOAD, PAYLOADS = 0.3, (0.0, 5.0)  # the same [kg]


@dataclass(frozen=True, slots=True, eq=False)
class Prior:
    """Independent and normal in coordinates z, (n,), in which each parameter has deviation one.

    A positive parameter's coordinate is that of its logarithm. nominal, low, high: (n,), in the
    parameters' units; scale: (n,), of the logarithm where `log` says so, else in their units.
    """

    names: tuple[str, ...]
    nominal: FloatArray
    scale: FloatArray
    log: FloatArray
    low: FloatArray
    high: FloatArray

    def values(self, z: FloatArray) -> FloatArray:
        """Parameters (..., n) of coordinates (..., n)."""
        moved = z * self.scale
        base = np.where(self.log, self.nominal, 1.0)
        result: FloatArray = np.where(self.log, base * np.exp(moved), self.nominal + moved)
        return result

    def coordinates(self, values: FloatArray) -> FloatArray:
        """The inverse of `values`."""
        ratio = np.where(self.log, values / np.where(self.log, self.nominal, 1.0), 1.0)
        result: FloatArray = np.where(self.log, np.log(ratio), values - self.nominal) / self.scale
        return result

    def bounds(self) -> tuple[FloatArray, FloatArray]:
        """The bounds of the coordinates."""
        return self.coordinates(self.low), self.coordinates(self.high)


def prior(scene: Scene, names: tuple[str, ...], nominal: FloatArray) -> Prior:
    """About the packs' values, `nominal` (n,), as wide as data sheets and guesses are."""
    known = dynamics.parameters(scene)
    of = dict(zip(names, nominal, strict=True))
    rows = []
    for name, value in of.items():
        kind = known[name].kind
        if kind == dynamics.LATENCY:
            rows.append((LATENCY, False, *LATENCIES))
        elif kind == dynamics.PAYLOAD:
            rows.append((PAYLOAD, False, *PAYLOADS))
        elif value > 0.0:
            rows.append((np.log(FACTOR), True, value / WIDEST, value * WIDEST))
        else:
            servo = of.get(name.rsplit("/", 1)[0] + "/kv", 1.0)
            rows.append((DAMPING * servo, False, 0.0, servo))
    scale, log, low, high = (np.array(column) for column in zip(*rows, strict=True))
    return Prior(names, nominal, scale, log.astype(bool), low, high)
