"""What entries of an observation are, as a pack's `symmetry.toml` names them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from enpire.environment.control.cartesian_control import ActionSpec
from enpire.errors import PackError
from enpire.packs.toml import Table

UPRIGHT = (0.0, 0.0, 1.0)
FARTHEST = 1.0  # that a scene is shifted, a hand is elsewhere, or its setpoint leads [m]
LARGEST = 6.3  # of a unit or of an angle: what is larger is in mm or degrees [m or rad]


@dataclass(frozen=True, slots=True)
class ObservedPoint:
    """A place in the world: entries of an observation, two (x, y) or three.

    An entry is (place - centre) / unit; centre: as many numbers [m].
    """

    entries: tuple[int, ...]
    unit: float
    centre: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class ObservedRotation:
    """A rotation vector: three entries of an observation, each in `unit` [rad]."""

    entries: tuple[int, int, int]
    unit: float
    # The world's vertical in the axes that it is given along.
    up: tuple[float, float, float] = UPRIGHT
    # Its length is the sine of the angle, as `frames.rotation_vector` has it, and not the angle.
    sines: bool = True


@dataclass(frozen=True, slots=True)
class ObservedYaw:
    """An angle about the vertical: an entry of an observation, in `unit` [rad]."""

    entry: int
    unit: float
    sines: bool = True  # it is the angle's sine, and not the angle


@dataclass(frozen=True, slots=True)
class ObservedLead:
    """How far an arm's setpoint is ahead of its hand: three entries of an observation.

    An entry is lead / unit [m]. by: standard deviation of how much further ahead a clone is shown
    setpoints than they were, along each axis [m]. actions: the entries of an action that move the
    setpoint along x, y and z. step: how far a whole action moves it [m].
    """

    entries: tuple[int, int, int]
    unit: float
    by: float
    actions: tuple[int, int, int]
    step: tuple[float, float, float]


@dataclass(frozen=True, slots=True)
class MovedHand:
    """A hand that is shown elsewhere than it was, or its setpoint."""

    arm: int  # whose it is
    by: float  # how far, along each axis [m]
    # The entries of an action that move the setpoint along x, y and z.
    actions: tuple[int, int, int]
    step: tuple[float, float, float]  # how far a whole action moves it [m]

    @classmethod
    def read(cls, table: Table, actions: ActionSpec) -> Self:
        """Return what a table says by `arm` and `by`.

        Raises:
            PackError: The task has no such arm, it does not move along every axis, or `by` is no
                distance.
        """
        by = table.number("by")
        if by <= 0.0:
            raise PackError(f"{table.where}: by is {by:g} m, and must be above 0")
        table.require_within("by", (by,), FARTHEST, "m, no mm")
        arm = arm_of(table, actions)
        x, y, z = actions.arms[arm].translation
        if min(x, y, z) <= 0.0:
            raise PackError(f"{table.where}: arm {arm} does not move along every axis")
        first = 7 * arm
        return cls(arm, by, (first, first + 1, first + 2), (x, y, z))


@dataclass(frozen=True, slots=True)
class ObservedNames:
    """The names of a task's observations."""

    where: str
    names: Sequence[str]

    def entry(self, name: str) -> int:
        """Return the place of a name; raises PackError where it is not observed."""
        if name not in self.names:
            raise PackError(f"{self.where}: the task observes no {name}: {', '.join(self.names)}")
        return self.names.index(name)

    def require_once(self, entries: Sequence[int], what: str) -> None:
        """Raise PackError where one entry is to be moved twice."""
        twice = next((entry for entry in entries if entries.count(entry) > 1), None)
        if twice is not None:
            raise PackError(f"{self.where}: {what} have {self.names[twice]} twice")

    def plane(self, stem: str) -> tuple[int, int]:
        """Return the entries of `stem` along x and y."""
        return self.entry(f"{stem}_x"), self.entry(f"{stem}_y")

    def space(self, stem: str) -> tuple[int, int, int]:
        """Return the entries of `stem` along x, y and z."""
        return (*self.plane(stem), self.entry(f"{stem}_z"))


def tables_in(table: Table, key: str) -> list[tuple[str, Table]]:
    """Return the tables under a key, by name; none where there is no such key."""
    if not table.has(key):
        return []
    inner = table.table(key)
    return [(stem, inner.table(stem)) for stem in inner.names]


def arm_of(table: Table, actions: ActionSpec) -> int:
    """Return the arm that a table names, the first one unless it does; raises PackError."""
    arm = table.number("arm", 0.0)
    if arm not in range(len(actions.arms)):
        raise PackError(f"{table.where}: arm is {arm:g}, and the task has {len(actions.arms)}")
    return int(arm)


def unit_of(table: Table) -> float:
    """Return what one of an observed entry is [m or rad]; raises PackError."""
    unit = table.number("unit")
    if unit <= 0.0:
        raise PackError(f"{table.where}: unit is {unit}, and must be above 0")
    table.require_within("unit", (unit,), LARGEST, "m or rad, no mm and no degrees")
    return unit
