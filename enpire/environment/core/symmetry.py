"""How what a task observes changes where its whole scene is moved.

Most tasks stay the same task where arm and objects are turned about the vertical together, or
shifted. A pack says so in `symmetry.toml`, and whoever learns may learn from moved moments too, so
that fewer demonstrations go further. The file decides no episode, so it is no part of a pack's
hash.
"""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass
from typing import Self

import numpy as np

from enpire.environment.control.cartesian_control import ActionSpec
from enpire.environment.core.displacement import Displacement, read_displacement
from enpire.environment.core.observed import (
    FARTHEST,
    LARGEST,
    UPRIGHT,
    MovedHand,
    ObservedLead,
    ObservedNames,
    ObservedPoint,
    ObservedRotation,
    ObservedYaw,
    tables_in,
    unit_of,
)
from enpire.environment.core.station_backend import StationBackend, Tasked
from enpire.environment.core.task import Task
from enpire.errors import PackError
from enpire.json_text import frozen, loads
from enpire.packs.finder import SYMMETRY
from enpire.packs.toml import REACH, Table

TURNS = ("rx", "ry", "rz")
AXES = ("x", "y", "z")


@dataclass(frozen=True, slots=True)
class Heading:
    """Which way an object is turned, for who sees and acts along its axes."""

    # cosine, sine: entries of an observation, of the object's yaw
    cosine: int
    sine: int
    # Entries of an observation along the world's x and y, (x, y) each, that are seen along the
    # object's.
    seen: tuple[tuple[int, int], ...]
    done: tuple[tuple[int, int], ...]  # entries of an action, likewise


@dataclass(frozen=True, slots=True)
class Mirror:
    """An upright plane that the scene may be mirrored in."""

    axis: float  # which way the plane runs, from the world's x [rad]
    signs: tuple[int, ...]  # entries of an observation that change their sign
    through: tuple[float, float] = (0.0, 0.0)  # a point of the plane [m]
    # Hands and objects by name, and which of its own axes (0, 1, 2) each is its own mirror image
    # across.
    across: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Idleness:
    """When hands stand still."""

    motion: float  # length of an action's motion below which they do, of whole actions
    entries: tuple[int, ...]  # of an action that move something


@dataclass(frozen=True, slots=True)
class Symmetry:
    """What moves with the scene, and how far it may be moved."""

    turn: float  # about the vertical, at most, either way [rad]
    shift: tuple[float, float, float]  # along the world's axes, likewise [m]
    # Entries of an observation along x and y, in one unit, (x, y) each; heights do not change.
    vectors: tuple[tuple[int, int], ...] = ()
    points: tuple[ObservedPoint, ...] = ()
    rotations: tuple[ObservedRotation, ...] = ()
    yaws: tuple[ObservedYaw, ...] = ()
    # Entries of an action, likewise: those that move a hand, then those that turn it, of each arm.
    actions: tuple[tuple[int, int], ...] = ()
    leads: tuple[ObservedLead, ...] = ()  # what is shown further ahead than it was
    mirror: Mirror | None = None  # a plane that the scene may be mirrored in
    heading: Heading | None = None  # of the object that clones see and act along
    idle: Idleness | None = None  # when hands stand still, which is not cloned
    displaced: Displacement | None = None  # how a hand is shown elsewhere, and goes back

    def to_json(self) -> str:
        """Return it as text, for another process."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Return the inverse of `to_json`."""
        said = frozen(loads(text))
        kinds = {
            "points": ObservedPoint,
            "rotations": ObservedRotation,
            "yaws": ObservedYaw,
            "leads": ObservedLead,
        }
        parts = {name: tuple(kind(**each) for each in said[name]) for name, kind in kinds.items()}
        single = {"mirror": Mirror, "heading": Heading, "idle": Idleness}
        whole = {name: said[name] and kind(**said[name]) for name, kind in single.items()}
        displaced = said.get("displaced")  # what was written before 2026-11-28 has none
        return cls(
            **{**said, **parts, **whole, "displaced": displaced and Displacement.of(displaced)}
        )


def symmetry_of(stations: StationBackend) -> Symmetry | None:
    """Return that of the task there; None where its pack names none, or joints are set.

    Raises:
        PackError: `symmetry.toml` does not parse, or names what the task does not observe.
    """
    if not isinstance(stations, Tasked) or stations.task.joint_actions:
        return None  # joints do not turn with the scene
    return read_symmetry(stations.task)


def read_symmetry(task: Task) -> Symmetry | None:
    """Return what a task's pack says of it in `symmetry.toml`; None where it says nothing."""
    path = task.folder / SYMMETRY
    return _parsed(Table.read(path), task) if path.is_file() else None


def _parsed(table: Table, task: Task) -> Symmetry:
    table.require_known(
        *("turn", "shift", "vectors", "points", "rotations", "yaws", "leads"),
        *("mirror", "heading", "idle", "displaced"),
    )
    turn, shift = table.number("turn"), table.numbers("shift", 3)
    if not (0.0 <= turn <= math.pi + 1e-3 and min(shift) >= 0.0):
        raise PackError(f"{table.where}: turn is from 0 to pi, and no shift is below 0")
    table.require_within("shift", shift, FARTHEST, "m, no mm")
    names = ObservedNames(table.where, task.observation_names)
    stems = table.texts("vectors") if table.has("vectors") else ()
    vectors = tuple(names.plane(stem) for stem in stems)
    actions = _planes(task.actions, table.where)
    points = {stem: _point(each, stem, names) for stem, each in tables_in(table, "points")}
    rotations = {stem: _rotation(each, stem, names) for stem, each in tables_in(table, "rotations")}
    yaws = {name: _yaw(each, name, names) for name, each in tables_in(table, "yaws")}
    named = [
        *(entry for plane in vectors for entry in plane),
        *(entry for point in points.values() for entry in point.entries),
        *(entry for rotation in rotations.values() for entry in rotation.entries),
        *(each.entry for each in yaws.values()),
    ]
    names.require_once(named, "vectors, points, rotations and yaws")
    return Symmetry(
        turn=turn,
        shift=(shift[0], shift[1], shift[2]),
        vectors=vectors,
        points=tuple(points.values()),
        rotations=tuple(rotations.values()),
        yaws=tuple(yaws.values()),
        actions=actions,
        leads=tuple(
            _lead(each, stem, names, task.actions) for stem, each in tables_in(table, "leads")
        ),
        mirror=_mirror(table, names, vectors),
        heading=_heading(table, names, vectors, actions),
        idle=_idle(table, task.actions),
        displaced=read_displacement(
            table, names, task.actions, task.tracked, points, {**rotations, **yaws}
        ),
    )


def _point(table: Table, stem: str, names: ObservedNames) -> ObservedPoint:
    table.require_known("unit", "centre")
    entries: tuple[int, ...] = names.plane(stem)
    if f"{stem}_z" in names.names:
        entries = (*entries, names.entry(f"{stem}_z"))
    centre = table.numbers("centre", len(entries))
    table.require_within("centre", centre, REACH, "m, no mm")
    return ObservedPoint(entries, unit_of(table), centre)


def _rotation(table: Table, stem: str, names: ObservedNames) -> ObservedRotation:
    table.require_known("unit", "up", "sines")
    rx, ry, rz = (names.entry(f"{stem}_{axis}") for axis in TURNS)
    x, y, z = table.numbers("up", 3) if table.has("up") else UPRIGHT
    if abs(math.hypot(x, y, z) - 1.0) > 1e-3:
        raise PackError(f"{table.where}: up is {[x, y, z]}, and no unit vector")
    return ObservedRotation((rx, ry, rz), unit_of(table), (x, y, z), table.flag("sines", True))


def _yaw(table: Table, name: str, names: ObservedNames) -> ObservedYaw:
    table.require_known("unit", "sines")
    return ObservedYaw(names.entry(name), unit_of(table), table.flag("sines", True))


def _lead(table: Table, stem: str, names: ObservedNames, actions: ActionSpec) -> ObservedLead:
    table.require_known("unit", "by", "arm")
    hand = MovedHand.read(table, actions)
    return ObservedLead(names.space(stem), unit_of(table), hand.by, hand.actions, hand.step)


def _mirror(
    table: Table, names: ObservedNames, vectors: tuple[tuple[int, int], ...]
) -> Mirror | None:
    if not table.has("mirror"):
        return None
    for other in ("points", "rotations", "yaws"):
        if table.has(other):
            raise PackError(f"{table.where}: {other} cannot be mirrored: leave mirror out")
    said = table.table("mirror")
    said.require_known("axis", "signs", "through", "across")
    axis, signs = said.number("axis"), [names.entry(name) for name in said.texts("signs")]
    said.require_within("axis", (axis,), LARGEST, "rad, no degrees")
    through = said.numbers("through", 2)
    said.require_within("through", through, REACH, "m, no mm")
    across = said.table("across")
    own = {name: across.text(name) for name in across.names}
    for name, letter in own.items():
        if letter not in AXES:
            raise PackError(f"{across.where}: {name} is {letter!r}; it is one of {', '.join(AXES)}")
    names.require_once(
        [*signs, *(entry for plane in vectors for entry in plane)], "vectors and signs of mirror"
    )
    return Mirror(
        axis,
        tuple(signs),
        (through[0], through[1]),
        tuple((name, AXES.index(letter)) for name, letter in own.items()),
    )


def _heading(
    table: Table,
    names: ObservedNames,
    vectors: tuple[tuple[int, int], ...],
    actions: tuple[tuple[int, int], ...],
) -> Heading | None:
    if not table.has("heading"):
        return None
    said = table.table("heading")
    said.require_known("cosine", "sine")
    cosine, sine = (names.entry(said.text(name)) for name in ("cosine", "sine"))
    names.require_once(
        [cosine, sine, *(entry for plane in vectors for entry in plane)], "vectors and heading"
    )
    for name, other in (("cosine", "sin"), ("sine", "cos")):
        if said.text(name).lower().endswith((f"_{other}", f"_{other}e", f"_{other}ine")):
            raise PackError(f"{said.where}: {name} is {said.text(name)}: the other way round?")
    return Heading(cosine, sine, vectors, actions)


def _idle(table: Table, actions: ActionSpec) -> Idleness | None:
    if not table.has("idle"):
        return None
    motion = table.number("idle")
    if motion <= 0.0:
        raise PackError(f"{table.where}: idle is {motion:g}, and must be above 0")
    table.require_within("idle", (motion,), 1.0, "of a whole action")
    arms, parts = np.nonzero(actions.scale)
    return Idleness(motion, tuple((7 * arms + parts).tolist()))


def _planes(actions: ActionSpec, where: str) -> tuple[tuple[int, int], ...]:
    """Return the entries of actions that turn with the scene."""
    for arm in actions.arms:
        for scale in (arm.translation, arm.rotation):
            if scale[0] != scale[1]:
                raise PackError(f"{where}: an action's steps along x and y are not the same")
    firsts = (7 * arm + part for arm in range(len(actions.arms)) for part in (0, 3))
    return tuple((first, first + 1) for first in firsts)
