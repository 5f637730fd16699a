"""How what a task observes changes where a hand is elsewhere, with what it holds.

A clone that has strayed from what was shown does not know the way back. A pack says in
`symmetry.toml`, under `[displaced]`, what would be seen a few millimetres beside a demonstration,
so that a clone can be taught to go back there first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Self, get_args

from enpire.environment.control.cartesian_control import ActionSpec
from enpire.environment.core.observed import (
    FARTHEST,
    LARGEST,
    UPRIGHT,
    MovedHand,
    ObservedNames,
    ObservedPoint,
    ObservedRotation,
    ObservedYaw,
    arm_of,
    tables_in,
    unit_of,
)
from enpire.errors import PackError
from enpire.packs.toml import Table

Axes = ObservedRotation | ObservedYaw  # how an object is turned, as it is observed


@dataclass(frozen=True, slots=True)
class RelativePlace:
    """A place that is seen along an object's axes: three entries of an observation.

    An entry is metres / unit. axes: how the object is turned. yaw: how far it is turned about its
    own upright axis where that observes nothing [rad].
    """

    entries: tuple[int, int, int]
    unit: float
    axes: Axes
    yaw: float


@dataclass(frozen=True, slots=True)
class EnlargedEntry:
    """An entry that shows another one once more, larger: tanh((that - at) / near)."""

    entry: int
    of: int
    at: float
    near: float


@dataclass(frozen=True, slots=True)
class EntryRange:
    """From where to where an entry may be."""

    entry: int
    low: float
    high: float


Sense = Literal["lead", "force"]
"""What is felt of a hand that is held back: how far its setpoint is ahead [m], or a force [N]."""


@dataclass(frozen=True, slots=True)
class FeltVector:
    """What is felt more where a setpoint is further ahead: three entries along the world's axes.

    An entry is in `unit` [m or N]. by: how much more for each metre of the setpoint; below 0 where
    it is felt the other way. of, arm: what is felt, and whose it is.
    """

    entries: tuple[int, int, int]
    unit: float
    by: float
    of: Sense
    arm: int


@dataclass(frozen=True, slots=True)
class Face:
    """A face that what a hand holds may stand against, beside where it should go in.

    There friction keeps it from going aside, so a hand that is elsewhere goes out first.
    """

    # What is seen from an object; its first axis leads to the face, from below.
    place: RelativePlace
    near: float  # beyond it a hand that is elsewhere goes out first, to `out` [m]
    out: float
    aside: float  # what is elsewhere by no more does not have to [m]
    # From `out` on, a setpoint is shown up to so much further ahead of a hand that the face holds
    # back [m].
    ahead: float
    felt: tuple[FeltVector, ...]  # what is felt then


@dataclass(frozen=True, slots=True)
class Displacement:
    """A hand that is elsewhere with what it holds, while all else stays."""

    hand: MovedHand  # which, and how far at most
    held: tuple[int, ...]  # of the tracked objects, those that it holds
    points: tuple[ObservedPoint, ...]  # places in the world that go with it
    # Places that are seen from another object and go with it, too.
    relative: tuple[RelativePlace, ...]
    enlarged: tuple[EnlargedEntry, ...]  # entries that follow from others
    # What is observed where it can be elsewhere; both what was and what is shown then.
    within: tuple[EntryRange, ...]
    face: Face | None = None

    @classmethod
    def of(cls, said: Mapping[str, Any]) -> Self:
        """Return the inverse of `dataclasses.asdict`."""
        face = said.get("face")  # what was written before 2026-11-29 has none
        return cls(
            hand=MovedHand(**said["hand"]),
            held=said["held"],
            points=tuple(ObservedPoint(**each) for each in said["points"]),
            relative=tuple(_place_of(each) for each in said["relative"]),
            enlarged=tuple(EnlargedEntry(**each) for each in said["enlarged"]),
            within=tuple(EntryRange(**each) for each in said["within"]),
            face=face and _face_of(face),
        )


def read_displacement(
    table: Table,
    names: ObservedNames,
    actions: ActionSpec,
    tracked: Sequence[str],
    points: Mapping[str, ObservedPoint],
    axes: Mapping[str, Axes],
) -> Displacement | None:
    """Return what a pack's `symmetry.toml` says under `[displaced]`; None where it says nothing.

    names: of what is observed. actions, tracked: the task's. points, axes: the places and turns of
    objects that the file names.

    Raises:
        PackError: What it names is not there, or a number cannot be meant.
    """
    if not table.has("displaced"):
        return None
    said = table.table("displaced")
    said.require_known("arm", "by", "held", "points", "relative", "enlarged", "within", "face")
    held = said.texts("held") if said.has("held") else ()
    relative = {
        stem: _relative(each, names.space(stem), axes) for stem, each in tables_in(said, "relative")
    }
    displacement = Displacement(
        hand=MovedHand.read(said, actions),
        held=tuple(_named(said, "held", name, tracked) for name in held),
        points=tuple(points[_known(said, "points", name, points)] for name in said.texts("points")),
        relative=tuple(relative.values()),
        enlarged=tuple(
            _enlarged(each, names.entry(name), names) for name, each in tables_in(said, "enlarged")
        ),
        within=_ranges(said, names),
        face=_face(said, names, actions, relative),
    )
    moved = [
        *(entry for place in displacement.points for entry in place.entries),
        *(entry for place in displacement.relative for entry in place.entries),
        *(each.entry for each in displacement.enlarged),
    ]
    names.require_once(moved, "points, relative and enlarged")
    return displacement


def _relative(
    table: Table, entries: tuple[int, int, int], axes: Mapping[str, Axes]
) -> RelativePlace:
    table.require_known("unit", "axes", "yaw")
    turned = axes[_known(table, "axes", table.text("axes"), axes)]
    if isinstance(turned, ObservedRotation) and turned.up != UPRIGHT:
        raise PackError(
            f"{table.where}: axes must be of a turn that is seen along the world's axes"
        )
    yaw = table.number("yaw", 0.0)
    table.require_within("yaw", (yaw,), LARGEST, "rad, no degrees")
    return RelativePlace(entries, unit_of(table), turned, yaw)


def _enlarged(table: Table, entry: int, names: ObservedNames) -> EnlargedEntry:
    table.require_known("of", "at", "near")
    near = table.number("near")
    if near <= 0.0:
        raise PackError(f"{table.where}: near is {near:g}, and must be above 0")
    return EnlargedEntry(entry, names.entry(table.text("of")), table.number("at", 0.0), near)


def _ranges(table: Table, names: ObservedNames) -> tuple[EntryRange, ...]:
    if not table.has("within"):
        return ()
    said = table.table("within")
    ranges = []
    for name in said.names:
        low, high = said.numbers(name, 2)
        if not low < high:
            raise PackError(f"{said.where}: {name} is from {low:g} to {high:g}: from less to more")
        ranges.append(EntryRange(names.entry(name), low, high))
    return tuple(ranges)


def _face(
    table: Table,
    names: ObservedNames,
    actions: ActionSpec,
    relative: Mapping[str, RelativePlace],
) -> Face | None:
    if not table.has("face"):
        return None
    said = table.table("face")
    said.require_known("place", "near", "out", "aside", "ahead", "felt")
    near, out, aside, ahead = (said.number(key) for key in ("near", "out", "aside", "ahead"))
    said.require_within("near, out, aside and ahead", (near, out, aside, ahead), FARTHEST, "m")
    if not (out < near and min(aside, ahead) >= 0.0):
        raise PackError(
            f"{said.where}: out is {out:g} and near {near:g}: out is the farther one, the lower "
            f"number; aside ({aside:g}) and ahead ({ahead:g}) are not below 0"
        )
    felt = tuple(_felt(each, names.space(stem), actions) for stem, each in tables_in(said, "felt"))
    names.require_once([entry for each in felt for entry in each.entries], "felt of face")
    place = relative[_known(said, "place", said.text("place"), relative)]
    return Face(place, near, out, aside, ahead, felt)


def _felt(table: Table, entries: tuple[int, int, int], actions: ActionSpec) -> FeltVector:
    table.require_known("unit", "by", "of", "arm")
    of = table.text("of")
    if of not in get_args(Sense):
        raise PackError(f"{table.where}: of is {of}, and must be one of {get_args(Sense)}")
    sense: Sense = "lead" if of == "lead" else "force"
    return FeltVector(entries, unit_of(table), table.number("by"), sense, arm_of(table, actions))


def _known(table: Table, key: str, name: str, among: Mapping[str, object]) -> str:
    if name not in among:
        raise PackError(
            f"{table.where}: {key} has {name}, which the file does not name: "
            f"{', '.join(among) or 'it names none'}"
        )
    return name


def _named(table: Table, key: str, name: str, among: Sequence[str]) -> int:
    if name not in among:
        raise PackError(f"{table.where}: {key} has {name}: the task tracks {', '.join(among)}")
    return among.index(name)


def _place_of(said: Mapping[str, Any]) -> RelativePlace:
    return RelativePlace(**{**said, "axes": _axes_of(said["axes"])})


def _face_of(said: Mapping[str, Any]) -> Face:
    felt = tuple(FeltVector(**each) for each in said["felt"])
    return Face(**{**said, "place": _place_of(said["place"]), "felt": felt})


def _axes_of(said: Mapping[str, Any]) -> Axes:
    return ObservedYaw(**said) if "entry" in said else ObservedRotation(**said)
