"""Whether a dataset means what a task means: names, rate, range; and what is assumed."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from enpire.datasets.columns import ACTION, PICTURES, STATE, WHOLE
from enpire.datasets.folder import Frames
from enpire.errors import StoreError
from enpire.types import Flags, Float32Array, FloatArray

LARGEST = 1e6  # of any entry: numbers that large are a fault, in whichever unit
SPIKE, ENTRY = 1000.0, 1.0  # how many times an entry's own spread it may be off; at least of that
ROUNDED = 1e-5  # an action may be beyond 1 by so much
STARTS, NEARBY = 10.0, 1.0  # how far from a task's own starts one may be: of their spread, and else
LEAST = 1e-6  # by which an entry changes at least: what is less is rounding, or noise of nothing
STILL = 10  # frames of an episode in which something changes
FEWEST = 200  # frames from which it can be told which way actions move things
CLEAR, AGAINST = 0.5, 0.15  # correlations: in the task, and the other way in a dataset
RATE = 0.01  # share by which two rates may differ
JOINT = ".pos"  # ends what LeRobot calls where a motor is
SHOWN = 4  # names of columns in a message

Again = Callable[[Sequence[tuple[int, FloatArray]]], Sequence[FloatArray]]
"""From seeds and actions (t, act) to what is seen in a twin, (t, obs), each perhaps shorter."""


@dataclass(frozen=True, slots=True)
class TaskInterface:
    """What a task shows and is acted on by.

    observation, action: names of entries. hz: control periods a second. starts: what policies see
    first in some of its episodes, (n, obs); none: not compared. moves: how its actions go with what
    changes, as `going_with`; gains: by how much, as `gains_of`; likewise. robot: what it is for;
    empty: whatever. motors: what LeRobot calls the axes of its arms, by whose positions it is acted
    on, too; empty: unknown. instruction: what is to be done, in words; empty: unknown. grippers:
    entries of an action that open and close hands. demonstrated: actions of a demonstration of its
    own, (n, act), made when it is called; None: not compared. demonstrations: several of them, what
    was done (t, act) and seen (t, obs), likewise. random: episodes of random actions,
    what was done (t, act) and seen (t, obs); held: likewise, each action held for long. again:
    carries out actions from seeds; None: it has no twin that does.
    """

    task: str
    observation: tuple[str, ...]
    action: tuple[str, ...]
    hz: float
    starts: Float32Array = field(default_factory=lambda: np.zeros((0, 0), np.float32))
    moves: FloatArray = field(default_factory=lambda: np.zeros((0, 0)))
    gains: FloatArray = field(default_factory=lambda: np.zeros((0, 0)))
    robot: str = ""
    motors: tuple[str, ...] = ()
    instruction: str = ""
    grippers: tuple[int, ...] = ()
    demonstrated: Callable[[], FloatArray] | None = None
    demonstrations: Callable[[], Sequence[tuple[FloatArray, FloatArray]]] | None = None
    random: Sequence[tuple[FloatArray, FloatArray]] = ()
    held: Sequence[tuple[FloatArray, FloatArray]] = ()
    again: Again | None = None


@dataclass(frozen=True, slots=True)
class Allowed:
    """What a person says of a dataset that it does not say itself.

    accept_names: entries are the task's in their order, whatever they are called. by_name: they are
    put in the task's order by their names. rename: what the dataset calls an entry or a camera, and
    what the task does, as `renames_in` reads it; entries then go by names too. fps: frames a
    second, whatever the dataset says; 0: as it says.
    success: the column that says whether an episode was a success, or `all`. clip: actions beyond
    [-1, 1] are taken as full ones. accept_motion: actions may move things the other way. degrees:
    joints are in degrees; calibration: or normalised, by this file of LeRobot's.
    """

    accept_names: bool = False
    by_name: bool = False
    rename: Mapping[str, str] = field(default_factory=dict)
    fps: float = 0.0
    success: str = ""
    clip: bool = False
    accept_motion: bool = False
    degrees: bool = False
    calibration: str = ""


@dataclass(frozen=True, slots=True)
class Chosen:
    """Entries of a column, in the task's order, by their names there.

    width: how many entries the column has there. said: what was assumed.
    """

    column: str
    entries: tuple[int, ...]
    names: tuple[str, ...]
    width: int
    said: str = ""


def seen_column(features: Mapping[str, Any]) -> str:
    """The column that has a task's observations: beside pictures the state is less than that."""
    return WHOLE if WHOLE in features else STATE


def renames_in(column: str, rename: Mapping[str, str]) -> dict[str, str]:
    """What a column calls its entries, and what the task does.

    Args:
        column: Its name.
        rename: THEIRS and OURS. A key `COLUMN:THEIRS` is of that column alone, and counts there
            before a plain `THEIRS`.
    """
    own = {
        theirs.removeprefix(f"{column}:"): ours
        for theirs, ours in rename.items()
        if theirs.startswith(f"{column}:")
    }
    return {**rename, **own}


def rate(folder: Path, said: float, wanted: TaskInterface, allowed: Allowed) -> tuple[float, str]:
    """Frames a second that are taken, and what was assumed; raises StoreError if not the task's."""
    taken = allowed.fps or said
    if not math.isclose(taken, wanted.hz, rel_tol=RATE):
        raise StoreError(
            f"{folder} has {taken:g} frames a second, and {wanted.task} acts {wanted.hz:g} times: "
            "an action there is for one period. Record or resample at that rate; if a frame is "
            f"one of its periods all the same, say --fps {wanted.hz:g}"
        )
    if math.isclose(taken, said, rel_tol=RATE):
        return taken, ""
    return taken, f"taken at {taken:g} frames a second, not at {said:g}"


def resampled_rate(
    folder: Path, said: float, wanted: TaskInterface, allowed: Allowed
) -> tuple[float, str]:
    """Frames a second of joint positions, to be brought to the task's rate; what was assumed."""
    taken = allowed.fps or said
    if math.isclose(taken, wanted.hz, rel_tol=RATE):
        return taken, "" if math.isclose(taken, said, rel_tol=RATE) else f"taken at {taken:g} Hz"
    return taken, f"{taken:g} frames a second resampled to {wanted.hz:g}"


def choose(
    folder: Path, features: Mapping[str, Any], column: str, wanted: TaskInterface, allowed: Allowed
) -> Chosen:
    """Choose the entries of a column that are the task's, by what they are called.

    Raises:
        StoreError: it is not there, of another size, or called something else.
    """
    names = wanted.action if column == ACTION else wanted.observation
    about = features.get(column)
    shape = None if about is None else tuple(about.get("shape") or ())
    called = None if about is None else names_of(about.get("names"))
    rename = renames_in(column, allowed.rename)
    renamed = called is not None and bool(rename.keys() & set(called))
    if renamed and allowed.accept_names:
        raise StoreError(
            f"{folder}: --accept-names takes entries of {column} as they stand: --rename then is "
            "of cameras alone"
        )
    by_name = allowed.by_name or renamed
    if by_name and called is not None and shape == (len(called),):
        return _by_name(folder, column, called, names, wanted, rename)
    if shape != (len(names),):
        raise StoreError(
            f"{folder} has {column} of shape {shape}; {wanted.task} has {len(names)} of them: a "
            "dataset fits a task that shows the same and is acted on alike"
            + _by_motors(shape, wanted)
        )
    every = tuple(range(len(names)))
    if called == names:
        return Chosen(column, every, names, len(names))
    if allowed.accept_names:
        other = "without names" if called is None else f"called {listed(called)}"
        said = f"{column} in its own order, {other}"
        return Chosen(column, every, names, len(names), said)
    if called is None:
        raise StoreError(
            f"{folder} does not name the entries of {column}; {wanted.task} calls them "
            f"{listed(names)}: if they are these in this order, say --accept-names"
        )
    if sorted(called) == sorted(names):
        at = next(
            i for i, (one, other) in enumerate(zip(called, names, strict=True)) if one != other
        )
        raise StoreError(
            f"{folder} has {column} in another order: entry {at} is {called[at]}, and "
            f"{wanted.task} has {names[at]} there: --by-name puts them in the task's order, "
            "--accept-names takes them as they stand"
        )
    strange = [
        f"{name} for {mine}" for name, mine in zip(called, names, strict=False) if name != mine
    ]
    raise StoreError(
        f"{folder} calls entries of {column} otherwise than {wanted.task}: {listed(strange)}. If "
        "they mean the same, say --rename THEIRS=OURS,... or, in the same order, --accept-names"
    )


def require_no_joints(folder: Path, features: Mapping[str, Any], wanted: TaskInterface) -> None:
    """Raise StoreError for actions that are called as LeRobot calls motors, and are not converted.

    That is, of an arm that is not the task's, or under names that are not its motors'.
    """
    called = names_of(features.get(ACTION, {}).get("names")) or ()
    if not called or not all(name.endswith(JOINT) for name in called):
        return
    if any(name in wanted.action for name in called):
        return
    motors = (
        f"and LeRobot calls the motors of {wanted.robot} {listed(wanted.motors, 30)}, in state "
        "and action: --rename THEIRS=OURS,..."
        if wanted.motors
        else f"and nothing says what they are of {wanted.robot or wanted.task} (drivers.toml, "
        "docs/lerobot-arms.md)"
    )
    raise StoreError(
        f"{folder} has actions that are joint positions ({listed(called, 30)}), {motors}"
    )


def _by_motors(shape: tuple[Any, ...] | None, wanted: TaskInterface) -> str:
    """How a dataset of joint positions is taken, where a column has as many entries as motors."""
    if not wanted.motors or shape != (len(wanted.motors),):
        return ""
    return (
        f". Joint positions of {wanted.robot} are called {listed(wanted.motors, 30)}, in both "
        "columns: --rename THEIRS=OURS,... or, in that order, --accept-names"
    )


def names_of(said: Any) -> tuple[str, ...] | None:
    """Names of a column's entries, in each form that datasets have; None without any."""
    if isinstance(said, dict):
        places = list(said.values())
        if places and all(type(place) is int for place in places):
            if len(set(places)) != len(places):
                return None  # nobody knows their order
            return tuple(str(name) for name in sorted(said, key=lambda name: said[name]))
        groups = list(said.values())
        if all(isinstance(group, list) for group in groups):
            said = [name for group in groups for name in group]
    if not isinstance(said, list) or not said:
        return None
    return tuple(map(str, said))


def require_renamed(folder: Path, features: Mapping[str, Any], allowed: Allowed, seen: str) -> None:
    """Raise StoreError for a name in `rename` that no entry and no camera has: it counts nowhere.

    seen: the column of what is seen.
    """
    entries = {name: names_of(features[name].get("names")) or () for name in (seen, ACTION)}
    called = [name for each in entries.values() for name in each]
    called += [n.removeprefix(PICTURES) for n in features if n.startswith(PICTURES)]
    own = [f"{column}:{name}" for column, each in entries.items() for name in each]
    strange = [name for name in allowed.rename if name not in (*called, *own)]
    if strange:
        alone = f" A name of one column alone is {seen}:THEIRS or {ACTION}:THEIRS."
        raise StoreError(
            f"{folder} calls nothing {strange[0]}; it has {listed(called, 30)}: correct --rename."
            + (alone if ":" in strange[0] else "")
        )


def require_sound(frames: Frames, chosen: Chosen, values: FloatArray) -> None:
    """Raises StoreError for a value that is no number, or as large as none is; values: (n, d)."""
    _refuse(frames, chosen, values, ~np.isfinite(values), "a finite number is needed")
    large = np.abs(values) > LARGEST
    _refuse(frames, chosen, values, large, f"nothing is larger than {LARGEST:g}")
    kept = values.astype(np.float32)  # what is left of them: 1e-300 is 0
    if len(kept) > 1 and np.ptp(kept, axis=0).max() <= LEAST:
        raise StoreError(
            f"{frames.folder}: {chosen.column} is the same in all {len(values)} frames: nothing "
            "was recorded there"
        )
    for extent in frames.extents if chosen.column != ACTION else ():
        mine = kept[extent.first : extent.end]
        if len(mine) >= STILL and np.ptp(mine, axis=0).max() <= LEAST:
            raise StoreError(
                f"{frames.folder}: episode {extent.index}: {chosen.column} is the same in all "
                f"{len(mine)} frames: nothing was recorded there: delete it from the dataset"
            )
    middle = np.median(values, axis=0)
    low, high = np.quantile(values, (0.05, 0.95), axis=0)
    far = np.abs(values - middle) > SPIKE * np.maximum(high - low, ENTRY)
    _refuse(frames, chosen, values, far, f"that is {SPIKE:g} times what this entry else spreads")


def within_one(frames: Frames, chosen: Chosen, values: FloatArray, clip: bool) -> str:
    """See whether actions (n, act) are in [-1, 1]; what was assumed if they are not.

    Raises:
        StoreError: they are not, and nobody has them clipped.
    """
    beyond = np.abs(values) > 1.0 + ROUNDED
    if not clip:
        share = f"{beyond.any(axis=1).mean():.0%} of the frames are beyond it"
        needed = (
            f"actions are in [-1, 1], and {share}: convert them (degrees, metres and joint angles "
            "are none); if only these are too much, --clip takes them as full actions"
        )
        _refuse(frames, chosen, values, beyond, needed)
    count = int(beyond.any(axis=1).sum())
    return f"{count} of {len(values)} actions clipped to [-1, 1]" if count else ""


def require_starts(
    frames: Frames, chosen: Chosen, values: FloatArray, wanted: TaskInterface
) -> None:
    """Raises StoreError if an episode begins far from where the task's own do; values: (n, obs)."""
    if not len(wanted.starts):
        return
    low, high = wanted.starts.min(axis=0), wanted.starts.max(axis=0)
    slack = STARTS * (high - low) + NEARBY * np.maximum(1.0, np.abs(low + high) / 2)
    first = np.zeros(len(values), bool)
    first[[extent.first for extent in frames.extents]] = True
    far = ((values < low - slack) | (values > high + slack)) & first[:, None]
    if far.any():
        row, at = (int(i[0]) for i in np.nonzero(far))
        raise StoreError(
            f"{frames.folder}: {frames.place(row)}: {chosen.column}, {chosen.names[at]}, is "
            f"{values[row, at]:g}, and {wanted.task} begins with {low[at]:g} to {high[at]:g}: "
            "another unit (degrees, millimetres), another meaning, or an episode that begins in "
            "its middle: convert it"
        )


def require_motion(
    frames: Frames,
    done: Chosen,
    pair: tuple[FloatArray, FloatArray],
    wanted: TaskInterface,
    accepted: bool,
) -> str:
    """See whether actions move what is seen the way the task's do; what was assumed if not.

    pair: actions and observations of all frames, (n, act) and (n, obs). Looked at is, of each
    action, the entry that goes with it most in the task, if it clearly does.

    Raises:
        StoreError: an entry goes the other way, and nobody has accepted that.
    """
    if not wanted.moves.size or len(frames) < FEWEST:
        return ""
    extents = [slice(extent.first, extent.end) for extent in frames.extents]
    theirs = going_with([(pair[0][rows], pair[1][rows]) for rows in extents])
    clear = leading_entries(wanted.moves)
    along = np.sign(wanted.moves) * theirs
    against = np.argwhere(clear & (along < -AGAINST))
    if not len(against):
        return ""
    action, seen = (int(i) for i in against[0])
    if accepted:
        return f"{done.names[action]} moves {wanted.observation[seen]} the other way"
    raise StoreError(
        f"{frames.folder}: {done.column}, {done.names[action]}, moves {wanted.observation[seen]} "
        f"the other way than in {wanted.task} (correlation {theirs[action, seen]:.2f}, there "
        f"{wanted.moves[action, seen]:.2f}): another sign, or another axis? Convert it; if it is "
        "meant, say --accept-motion"
    )


def going_with(episodes: Sequence[tuple[NDArray[Any], NDArray[Any]]]) -> FloatArray:
    """Correlation of actions (t, act) with changes of observations (t, obs), over episodes."""
    actions, changes = _centred(episodes)
    sizes = np.outer(np.linalg.norm(actions, axis=0), np.linalg.norm(changes, axis=0))
    found = np.zeros(sizes.shape)
    np.divide(actions.T @ changes, sizes, out=found, where=sizes > 1e-9)
    return found


def gains_of(episodes: Sequence[tuple[NDArray[Any], NDArray[Any]]]) -> FloatArray:
    """Changes of observations (t, obs) for one unit of each action (t, act), (act, obs).

    By least squares, over all episodes; 0 for an action that does not change.
    """
    actions, changes = _centred(episodes)
    sizes = np.square(actions).sum(axis=0)[:, None]
    found = np.zeros((actions.shape[1], changes.shape[1]))
    np.divide(actions.T @ changes, sizes, out=found, where=sizes > 1e-9)
    return found


def leading_entries(moves: FloatArray) -> NDArray[np.bool_]:
    """Of each action, the observation that clearly goes with it most, (act, obs); as `moves`."""
    sizes = np.abs(moves)
    clear: NDArray[np.bool_] = (sizes >= CLEAR) & (sizes == sizes.max(axis=1, keepdims=True))
    return clear


def _centred(
    episodes: Sequence[tuple[NDArray[Any], NDArray[Any]]],
) -> tuple[FloatArray, FloatArray]:
    actions = np.concatenate([done[:-1] for done, _ in episodes]).astype(np.float64)
    changes = np.concatenate([np.diff(seen, axis=0) for _, seen in episodes]).astype(np.float64)
    return actions - actions.mean(axis=0), changes - changes.mean(axis=0)


def _by_name(
    folder: Path,
    column: str,
    called: Sequence[str],
    names: tuple[str, ...],
    wanted: TaskInterface,
    rename: Mapping[str, str],
) -> Chosen:
    theirs = [rename.get(name, name) for name in called]
    missing = [name for name in names if theirs.count(name) != 1]
    if missing:
        how = "twice" if missing[0] in theirs else "not at all"
        raise StoreError(
            f"{folder} has {missing[0]} {how} in {column}, which {wanted.task} needs; it has "
            f"{listed(called, 30)}: say --rename THEIRS=OURS,..., or {column}:THEIRS=OURS where a "
            "name means something else in the other column" + _by_motors((len(called),), wanted)
        )
    entries = tuple(theirs.index(name) for name in names)
    if entries == tuple(range(len(called))) and tuple(called) == names:
        return Chosen(column, entries, names, len(called))
    left = len(called) - len(entries)
    other = f", {left} of its entries left out" if left else ""
    said = f"{column} put in order by its names{other}"
    return Chosen(column, entries, names, len(called), said)


def _refuse(frames: Frames, chosen: Chosen, values: FloatArray, bad: Flags, needed: str) -> None:
    if bad.any():
        row, at = (int(i[0]) for i in np.nonzero(bad))
        raise StoreError(
            f"{frames.folder}: {frames.place(row)}: {chosen.column}, {chosen.names[at]}, is "
            f"{values[row, at]:g}: {needed}"
        )


def listed(names: Sequence[str], most: int = SHOWN) -> str:
    """The first of some names for a person, and how many more there are."""
    shown = ", ".join(names[:most])
    return f"{shown} and {len(names) - most} more" if len(names) > most else shown
