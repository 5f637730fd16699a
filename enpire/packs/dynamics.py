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

WIDEST = 3.0  # deviation of a logarithm of which anything is known: a factor of 20
COLUMNS = ("value", "low", "high", "deviation")  # of a parameter


@dataclass(frozen=True, slots=True, eq=False)
class Dynamics:
    """Parameters of a robot's arms, normal about their values."""

    robot: str
    names: tuple[str, ...]
    # values, low, high: (n,), with 95% intervals, in the parameters' units
    values: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    # (n,), of the logarithm where `log` says so, else in their units.
    deviation: NDArray[np.float64]
    log: NDArray[np.bool_]
    correlation: NDArray[np.float64]  # (n, n)
    units: tuple[str, ...] = ()  # of each, as its file says; empty where it does not

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
    table.require_known("robot", "from", "noise", "held_out", "parameters")
    for row in rows:
        row.require_known("name", "unit", "of_pack", "log", "correlation", *COLUMNS)
    names = tuple(row.text("name") for row in rows)
    if len(set(names)) != len(names):
        raise PackError(f"{path}: a parameter is there twice")
    columns = {key: np.array([row.number(key) for row in rows]) for key in COLUMNS}
    if any((each < 0.0).any() for each in columns.values()):
        raise PackError(f"{path}: {', '.join(COLUMNS)} must be numbers from 0 up")
    outside = (columns["value"] < columns["low"]) | (columns["value"] > columns["high"])
    if outside.any():
        wrong = int(np.argmax(outside))
        raise PackError(f"{path}: the value of {names[wrong]} is not from its low to its high")
    correlation = np.array([row.numbers("correlation", len(rows)) for row in rows])
    off = abs(correlation - correlation.T).max(), abs(np.diag(correlation) - 1.0).max()
    if max(off) > 1e-6 or abs(correlation).max() > 1.0 + 1e-6:
        raise PackError(f"{path}: the rows of correlation are no correlation matrix")
    log = np.array([row.flag("log", False) for row in rows])
    wide = log & (columns["deviation"] > WIDEST)
    if wide.any():
        raise PackError(
            f"{path}: the deviation of {names[int(np.argmax(wide))]} is of its logarithm: at most "
            f"{WIDEST:g}"
        )
    values = columns.pop("value")
    units = tuple(row.text("unit", "") for row in rows)
    robot = table.text("robot")
    return Dynamics(robot, names, values, log=log, correlation=correlation, units=units, **columns)
