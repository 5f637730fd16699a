"""Dynamics of one station's arms as identified: values with their uncertainty, for a world pack.

`enpire twin fit` writes the file; docs/identification.md says how. Its parameters are named in
`enpire/twin/dynamics.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from enpire.errors import PackError
from enpire.packs.toml import Table


@dataclass(frozen=True, slots=True, eq=False)
class Dynamics:
    """Parameters of a robot's arms, normal about their values.

    values, low, high: (n,), with 95% intervals, in the parameters' units. deviation: (n,), of the
    logarithm where `log` says so, else in their units. correlation: (n, n).
    """

    robot: str
    names: tuple[str, ...]
    values: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    deviation: NDArray[np.float64]
    log: NDArray[np.bool_]
    correlation: NDArray[np.float64]

    def draw(self, rng: np.random.Generator) -> NDArray[np.float64]:
        """Parameters as uncertain as they are, (n,), none negative."""
        size = len(self.names)
        # Rounded to a few digits in the file, it may be a little short of positive definite.
        spread, axes = np.linalg.eigh(self.correlation)
        x = axes @ (np.sqrt(np.maximum(spread, 0.0)) * rng.standard_normal(size))
        moved = self.deviation * x
        drawn = np.where(self.log, self.values * np.exp(moved), self.values + moved)
        result: NDArray[np.float64] = np.maximum(drawn, 0.0)
        return result


def read_dynamics(path: Path) -> Dynamics:
    """Read a `dynamics.toml`; raises PackError naming file and key."""
    table = Table.read(path)
    rows = table.tables("parameters")
    names = tuple(row.text("name") for row in rows)
    if len(set(names)) != len(names):
        raise PackError(f"{path}: a parameter is there twice")
    keys = ("value", "low", "high", "deviation")
    columns = {key: np.array([row.number(key) for row in rows]) for key in keys}
    if any((~np.isfinite(each) | (each < 0.0)).any() for each in columns.values()):
        raise PackError(f"{path}: value, low, high and deviation must be numbers from 0 up")
    correlation = np.array([row.numbers("correlation", len(rows)) for row in rows])
    off = abs(correlation - correlation.T).max(), abs(np.diag(correlation) - 1.0).max()
    if max(off) > 1e-6 or abs(correlation).max() > 1.0 + 1e-6:
        raise PackError(f"{path}: the rows of correlation are no correlation matrix")
    log = np.array([row.raw("log") is True for row in rows])
    values = columns.pop("value")
    robot = table.text("robot")
    return Dynamics(robot, names, values, log=log, correlation=correlation, **columns)
