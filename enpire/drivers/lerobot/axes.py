"""Between LeRobot's numbers and ours: names, units, signs and zeros of every axis.

An axis in `drivers.toml` (docs/lerobot-arms.md):

[[lerobot.axes]]
motor = "elbow_flex"            # `elbow_flex.pos` in observations and actions
unit = "degrees"                # or "radians" or "metres"; the default is degrees
sign = -1                       # theirs grows as ours shrinks; the default is 1
offset = 0.5                    # ours where theirs is 0, in our unit; the default is 0

[[lerobot.axes]]
motor = "gripper"
theirs = [0.0, 100.0]           # normalised numbers: two of theirs,
ours = [-0.17453, 1.74533]      # and what they are in our unit
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from enpire.errors import DriverError, PackError
from enpire.packs.toml import Table
from enpire.types import FloatArray

UNITS = {"degrees": np.pi / 180.0, "radians": 1.0, "metres": 1.0}  # ours for one of theirs
ENDS = ".pos"  # of the key that LeRobot has for a motor
FARTHEST = 6.3  # that an axis's zero is off theirs: a whole turn [rad], or more than any arm [m]
_LINEAR = frozenset({"motor", "unit", "sign", "offset"})
_BY_POINTS = frozenset({"motor", "theirs", "ours"})


@dataclass(frozen=True, slots=True, eq=False)
class Axes:
    """ours = offset + factor * theirs. keys: in observations and actions; all of shape (axes,)."""

    keys: tuple[str, ...]
    factor: FloatArray
    offset: FloatArray

    @classmethod
    def read(cls, rows: Sequence[Table]) -> Axes:
        """Read the tables `[[lerobot.axes]]`; raises PackError naming file and key."""
        found = [_axis(row) for row in rows]
        keys = tuple(key for key, _, _ in found)
        twice = next((key for key in keys if keys.count(key) > 1), None)
        if twice:
            raise PackError(f"{rows[0].where}: {twice.removesuffix(ENDS)} stands for two axes")
        return cls(keys, np.array([f for _, f, _ in found]), np.array([o for _, _, o in found]))

    def ours(self, observation: Mapping[str, Any]) -> FloatArray:
        """Positions, (axes,), of what LeRobot observed; raises DriverError if one is missing."""
        try:
            theirs = np.array([observation[key] for key in self.keys], np.float64)
        except KeyError as error:
            raise DriverError(f"the robot did not say where {error} is") from error
        return self.offset + self.factor * theirs

    def theirs(self, setpoint: FloatArray) -> dict[str, float]:
        """The action that a setpoint, (axes,), is."""
        values = (setpoint - self.offset) / self.factor
        return dict(zip(self.keys, values.tolist(), strict=True))


def _axis(row: Table) -> tuple[str, float, float]:
    motor = row.text("motor")
    if not motor.strip() or motor.endswith(ENDS):
        raise PackError(f"{row.where}: motor is {motor!r}: its name, without {ENDS} after it")
    key = f"{motor}{ENDS}"
    by_points = row.has("theirs") or row.has("ours")
    known = _BY_POINTS if by_points else _LINEAR
    odd = next((name for name in row.names if name not in known), None)
    if odd:
        raise PackError(f"{row.where}: {odd} means nothing here; there are {', '.join(known)}")
    if by_points:
        theirs, ours = row.numbers("theirs", 2), row.numbers("ours", 2)
        if theirs[0] == theirs[1] or ours[0] == ours[1]:
            raise PackError(f"{row.where}: theirs and ours each need two different numbers")
        row.require_within("ours", ours, FARTHEST, "rad or m, no degrees and no mm")
        factor = (ours[1] - ours[0]) / (theirs[1] - theirs[0])
        return key, factor, ours[0] - factor * theirs[0]
    unit, sign = row.text("unit", "degrees"), row.number("sign", 1.0)
    if unit not in UNITS:
        raise PackError(
            f"{row.where}: unit is {unit!r}: {', '.join(UNITS)}, or give theirs and ours"
        )
    if sign not in (-1.0, 1.0):
        raise PackError(f"{row.where}: sign must be 1 or -1, found {sign:g}")
    offset = row.number("offset", 0.0)
    row.require_within("offset", (offset,), FARTHEST, "rad or m, no degrees and no mm")
    return key, sign * UNITS[unit], offset
