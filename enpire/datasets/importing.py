"""A LeRobot dataset as episodes: demonstrations that somebody gave elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from enpire.datasets import compatibility, endings, notices, spans, success_columns
from enpire.datasets.arm_model import TILT, ArmModel
from enpire.datasets.camera_columns import CameraColumns, Shown
from enpire.datasets.columns import (
    ACTION,
    ENVIRONMENT,
    PICTURES,
    POLICY,
    REWARD,
    SEED,
    STATE,
    WHOLE,
)
from enpire.datasets.compatibility import Allowed, Chosen, TaskInterface, names_of
from enpire.datasets.copies import columns_told_twice, require_told_alike, told_twice
from enpire.datasets.folder import (
    Description,
    Extent,
    Frames,
    describe,
    read_frames,
    require_paced,
)
from enpire.datasets.joints import (
    Resampled,
    has_joints,
    in_our_units,
    require_in_both,
    require_of_arm,
    resampled,
)
from enpire.datasets.tables import pointing_columns, require_pointed
from enpire.datasets.told_statistics import told_statistics
from enpire.datasets.undeclared import told_columns
from enpire.environment.core.policy_cameras import EVERY
from enpire.errors import StoreError
from enpire.real_path import real_path
from enpire.types import (
    NO_PICTURES,
    Episode,
    FloatArray,
    Outcome,
    Purpose,
    Times,
    Verdict,
)

BY = "imported"  # the policy of an episode whose dataset does not say
HELP = "intervention"
SEEDS = 2**63  # a seed is below
LONGEST_NAME = 200  # letters, of a policy
LEAST_SHARE = 0.005  # of periods, from which on it is told


@dataclass(frozen=True, slots=True)
class Imported:
    """Episodes of a dataset, in its order. said: what was assumed of it, for a person."""

    episodes: tuple[Episode, ...]
    said: tuple[str, ...]


def demonstrations(
    folder: Path,
    wanted: TaskInterface,
    allowed: Allowed | None = None,
    arms: ArmModel | None = None,
    shown: Shown | None = None,
) -> Imported:
    """The episodes of a dataset as demonstrations of a task, each value of them looked at.

    They are successes if the dataset says so: `success`, `next.success` in any frame, or the column
    that `allowed` names. No verifier of ours has seen them, which each verdict's reason says.

    Args:
        folder: of the dataset.
        wanted: what the task means.
        allowed: what the dataset does not say itself.
        arms: the task's, by whose kinematics joint positions become actions; None: of none.
        shown: which pictures policies see, if they see; one is kept in every `EVERY` periods.

    Raises:
        StoreError: there is no dataset, or what it has is not what the task means.
    """
    allowed = allowed or Allowed()
    source = _read(real_path(folder), wanted, allowed, arms, shown)
    meaning = _meaning(source, wanted, allowed, sees=shown is not None)
    moved = _compared(meaning, source.chosen[0].column, wanted, allowed)
    good, by = success_columns.successes(source.frames, source.features, allowed)
    episodes = _episodes(source, meaning, wanted, good)
    twice = told_twice(source.frames, *meaning.given[::-1])
    pictures = shown is None and any(name.startswith(PICTURES) for name in source.features)
    assumed = [
        by,
        source.paced,
        *(one.said for one in source.chosen),
        *meaning.said,
        moved,
        twice,
        notices.cut_off(source.frames, good),
        notices.rewarded(source.frames, good),
        endings.odd_endings(
            meaning.frames,
            meaning.observations[:, meaning.known],
            good,
            _known(wanted, meaning.known),
        ),
        spans.odd_spans(
            meaning.frames,
            meaning.observations[:, meaning.known],
            _known(wanted, meaning.known),
        ),
        *notices.noticed(
            meaning.frames,
            source.about,
            (meaning.actions, meaning.observations[:, meaning.known]),
            _known(wanted, meaning.known),
        ),
        "" if source.cameras is None else source.cameras.said,
        "without its pictures" if pictures else "",
        *told_columns(source.frames, source.about),
        source.even,
        *(told_statistics(source.frames, each.column) for each in source.chosen),
    ]
    return Imported(episodes, tuple(dict.fromkeys(text for text in assumed if text)))


@dataclass(frozen=True, slots=True)
class _Source:
    """A dataset's frames, and what its columns are taken for.

    about: what it says of itself. chosen: entries of its columns of observations and of actions.
    arms: by which its joint positions are understood; None: it speaks as the task does. fps: its
    rate, paced: what was assumed of it, and even: of its times. cameras: of its pictures, where
    policies see. beside: its column of all that the task shows beside joints, which are its last
    entries; or none.
    """

    frames: Frames
    about: Description
    chosen: tuple[Chosen, Chosen]
    arms: ArmModel | None
    fps: float
    paced: str
    even: str
    cameras: CameraColumns | None
    beside: tuple[str, ...] = ()

    @property
    def features(self) -> dict[str, Any]:
        """Its columns, by their names."""
        return self.about.features


def _read(
    folder: Path,
    wanted: TaskInterface,
    allowed: Allowed,
    arms: ArmModel | None,
    shown: Shown | None,
) -> _Source:
    """Choose a dataset's columns and read them; raises as `demonstrations`."""
    about = describe(folder)
    features = about.features
    if arms is not None:
        require_in_both(folder, features, arms.axes, wanted, allowed)
        if has_joints(features, (STATE, ACTION), arms.axes, allowed):
            arms.require_no_forces(folder)
        elif arms.motors is not None:
            raise StoreError(
                f"{folder}: policies of {wanted.task} say where joints are to be, and state and "
                f"action there are not both positions of {', '.join(arms.axes.keys)}: --rename "
                "THEIRS=OURS,..., or a task whose policies move hands"
            )
        else:
            arms = None
    named = wanted
    if arms is None:
        compatibility.require_no_joints(folder, features, wanted)
        seen = compatibility.seen_column(features)
    else:
        seen, keys = STATE, arms.axes.keys
        named = replace(wanted, task=arms.name, observation=keys, action=keys)
    observed, done = (
        compatibility.choose(folder, features, column, named, allowed) for column in (seen, ACTION)
    )
    if arms is None and (allowed.degrees or allowed.calibration):
        option = "--degrees" if allowed.degrees else "--calibration"
        raise StoreError(
            f"{folder}: {option} says in what joint positions are, and these columns have none of "
            "them: leave it out"
        )
    taken_at = compatibility.rate if arms is None else compatibility.resampled_rate
    fps, paced = taken_at(folder, about.fps, wanted, allowed)
    compatibility.require_renamed(folder, features, allowed, seen)
    cameras = None
    if shown is not None:
        cameras = CameraColumns(folder, features, shown, allowed.rename)
    told = [name for name in (POLICY, SEED, HELP) if name in features]
    twins = columns_told_twice(features, seen, wanted.observation)
    success = success_columns.success_columns(features, allowed)
    pointing = pointing_columns(folder, about)
    more = notices.more_columns(features)
    beside = _beside(features, wanted, arms)
    columns = list(
        dict.fromkeys([seen, ACTION, *beside, *twins, *success, *told, *more, *pointing])
    )
    frames = read_frames(folder, about, columns, (REWARD,))
    even = require_paced(frames, (fps, about.fps))
    notices.require_ends(frames, features)
    called = {name: names_of(features[name].get("names")) or () for name in (seen, *twins)}
    require_told_alike(frames, seen, twins, called)
    require_pointed(frames, about, pointing)
    return _Source(frames, about, (observed, done), arms, fps, paced, even, cameras, beside)


def _beside(
    features: dict[str, Any], wanted: TaskInterface, arms: ArmModel | None
) -> tuple[str, ...]:
    """Name the column that has what a task shows beside joints, where its policies set these."""
    if arms is None or arms.motors is None:
        return ()
    names = wanted.observation[len(arms.felt) :]
    for column in (WHOLE, ENVIRONMENT):
        called = names_of(features.get(column, {}).get("names")) or ()
        if called[-len(names) :] == names and len(called) in (len(names), len(wanted.observation)):
            return (column,)
    return ()


def _meaning(source: _Source, wanted: TaskInterface, allowed: Allowed, *, sees: bool) -> _Meaning:
    """What a dataset's frames mean to a task; sees: policies do, by cameras."""
    frames, arms = source.frames, source.arms
    (observed, of_observed), (done, of_done) = (_values(frames, each) for each in source.chosen)
    if arms is None:
        clipped = compatibility.within_one(frames, source.chosen[1], done, allowed.clip)
        every = tuple(range(len(wanted.observation)))
        numbers = tuple(tuple(range(extent.length)) for extent in frames.extents)
        said = (of_observed, of_done, clipped)
        given = observed, done
        return _Meaning(
            frames, done.clip(-1.0, 1.0), observed, every, numbers, given, source.fps, said
        )
    if not sees and not source.beside and len(arms.felt) < len(wanted.observation):
        missing = [n for i, n in enumerate(wanted.observation) if i not in arms.felt]
        raise StoreError(
            f"{frames.folder} has joint positions, and {wanted.task} shows its policies what a "
            f"tracker says ({missing[0]}, ...), too: only policies that see by cameras do "
            "without, --images 64"
        )
    made = _of_joints(source, arms, (observed, done), wanted, allowed)
    return replace(made, said=(of_observed, of_done, *made.said))


def _episodes(
    source: _Source, meaning: _Meaning, wanted: TaskInterface, good: Sequence[bool]
) -> tuple[Episode, ...]:
    """Its episodes; good: which are successes."""
    frames, features = source.frames, source.features
    helped = frames.flags(HELP) if HELP in features else np.zeros(len(frames), bool)
    pictured = [np.arange(0, extent.length, EVERY) for extent in meaning.frames.extents]
    films = [NO_PICTURES] * len(pictured)
    if source.cameras is not None:
        newest = [
            [which[i] for i in at] for at, which in zip(pictured, meaning.newest, strict=True)
        ]
        films = source.cameras.read(frames, newest)
    made: list[Episode] = []
    for i, (extent, mine) in enumerate(zip(frames.extents, meaning.frames.extents, strict=True)):
        rows = slice(mine.first, mine.end)
        verdict = _verdict(good[i])
        made.append(
            Episode(
                id=f"imported-{frames.folder.name}-{extent.index:06d}",
                task=wanted.task,
                seed=_seed(frames, extent, SEED in features),
                purpose=Purpose.DEMONSTRATION,
                policy=_policy(frames, extent, POLICY in features),
                round=0,
                station=0,
                verdict=verdict,
                times=Times(),
                observations=meaning.observations[rows].astype(np.float32),
                actions=meaning.actions[rows].astype(np.float32),
                stamps=(1.0 / meaning.rate) * np.arange(mine.length, dtype=np.float64),
                rewards=verdict.rewards(mine.length),
                intervened=helped[extent.first + np.array(meaning.newest[i])],
                pictures=films[i],
                pictured=pictured[i] if len(films[i]) else np.zeros(0, np.int64),
            )
        )
    return tuple(made)


@dataclass(frozen=True, slots=True)
class _Meaning:
    """A dataset's frames as a task's control periods.

    frames: a row per period. actions: (periods, act). observations: (periods, obs), and `known`,
    those entries of them that the dataset tells. newest: of each episode the newest frame in each
    of its periods. given: observations and actions as the dataset has them, (frames, n) each. rate:
    of the periods [Hz]. said: what was assumed.
    """

    frames: Frames
    actions: FloatArray
    observations: FloatArray
    known: tuple[int, ...]
    newest: tuple[tuple[int, ...], ...]
    given: tuple[FloatArray, FloatArray]
    rate: float
    said: tuple[str, ...]


def _of_joints(
    source: _Source,
    arms: ArmModel,
    given: tuple[FloatArray, FloatArray],
    wanted: TaskInterface,
    allowed: Allowed,
) -> _Meaning:
    """What a task makes of joint positions; given: where axes were, and where they were sent.

    Raises:
        StoreError: they are not those of its arm, or its hand is not where the task is.
    """
    frames, fps = source.frames, source.fps
    recorded = in_our_units(frames, *given, arms.axes, allowed)
    require_of_arm(frames, recorded, arms.axes, arms.ranges, arms.name, arms.grippers)
    parts: list[Resampled] = []
    for extent in frames.extents:
        rows, stamps = slice(extent.first, extent.end), np.arange(extent.length) / fps
        parts.append(resampled(stamps, recorded.measured[rows], recorded.wanted[rows], wanted.hz))
    outside = float(np.mean([arms.outside(part.measured) for part in parts]))
    if outside > 0.5:
        raise StoreError(
            f"{frames.folder}: by its joints the hand is outside the space of {wanted.task} in "
            f"{outside:.0%} of the time: another unit, another zero or sign, or another task"
        )
    made = [arms.convert(part.measured, part.wanted) for part in parts]
    known, disagree = arms.felt, ""
    for column in source.beside:
        known = tuple(range(len(wanted.observation)))
        others, _ = frames.numbers(column)
        for extent, part, each in zip(frames.extents, parts, made, strict=True):
            shown = others[extent.first + np.array(part.frames)]
            each.observations[:, len(arms.felt) :] = shown[:, len(arms.felt) - len(known) :]
        joints = len(arms.felt)
        disagree = arms.shown_elsewhere(
            parts, [each.observations[:, joints:] for each in made], wanted.observation[joints:]
        )
    behind = float(np.mean([each.behind for each in made]))
    tilt = max(each.tilt for each in made)
    newest = tuple(part.frames for part in parts)
    still = sum(part.still for part in parts) / len(parts)
    notes = (
        recorded.said,
        f"actions from where the joints were sent, by the kinematics of {arms.name}"
        if arms.motors is None
        else "actions are where the joints were sent",
        f"without their first {still:.2g} s in the mean, in which the leader stood still"
        if still >= 1.0 / wanted.hz
        else "",
        f"in {behind:.0%} of the periods the hand cannot follow, and comes later"
        if behind >= LEAST_SHARE
        else "",
        f"turns of up to {tilt:.2f} rad about axes that actions hold are left out"
        if tilt > TILT
        else "",
        f"the hand is outside the task's box in {outside:.0%} of the time"
        if outside >= LEAST_SHARE
        else "",
        arms.odd(
            [
                (recorded.measured[e.first : e.end], recorded.wanted[e.first : e.end])
                for e in frames.extents
            ],
            fps,
        ),
        disagree,
        "without what a tracker would say: for policies that see"
        if len(known) < len(wanted.observation)
        else "",
    )
    return _Meaning(
        frames.at(newest),
        np.concatenate([each.actions for each in made]).astype(np.float64),
        np.concatenate([each.observations for each in made]).astype(np.float64),
        known,
        newest,
        given,
        wanted.hz,
        notes,
    )


def _compared(meaning: _Meaning, seen: str, wanted: TaskInterface, allowed: Allowed) -> str:
    """Hold starts and motion against the task's, as far as they are known; what was assumed."""
    mine = _known(wanted, meaning.known)
    width = len(mine.observation)
    observed = Chosen(seen, tuple(range(width)), mine.observation, width)
    done = Chosen(ACTION, tuple(range(len(mine.action))), mine.action, len(mine.action))
    observations = meaning.observations[:, meaning.known]
    compatibility.require_starts(meaning.frames, observed, observations, mine)
    pair = meaning.actions, observations
    return compatibility.require_motion(meaning.frames, done, pair, mine, allowed.accept_motion)


def _known(wanted: TaskInterface, known: tuple[int, ...]) -> TaskInterface:
    """The same, of some entries of its observation alone."""
    told = wanted.demonstrations
    return replace(
        wanted,
        observation=tuple(wanted.observation[i] for i in known),
        starts=wanted.starts[:, known] if wanted.starts.size else wanted.starts,
        moves=wanted.moves[:, known] if wanted.moves.size else wanted.moves,
        gains=wanted.gains[:, known] if wanted.gains.size else wanted.gains,
        demonstrations=None
        if told is None
        else lambda: [(done, seen[:, known]) for done, seen in told()],
        random=[(done, seen[:, known]) for done, seen in wanted.random],
        held=[(done, seen[:, known]) for done, seen in wanted.held],
        again=None if len(known) < len(wanted.observation) else wanted.again,
    )


def _values(frames: Frames, chosen: Chosen) -> tuple[FloatArray, str]:
    """Entries of a column, (frames, n), sound, and what was assumed of them."""
    values, whole = frames.numbers(chosen.column)
    if values.shape[1] != chosen.width:
        raise StoreError(
            f"{frames.folder}: {chosen.column} has {values.shape[1]} entries in each row, and "
            f"meta/info.json says {chosen.width}"
        )
    values = values[:, chosen.entries]
    compatibility.require_sound(frames, chosen, values)
    return values, f"{chosen.column} of integers" if whole else ""


def _policy(frames: Frames, extent: Extent, there: bool) -> str:
    value: Any = frames.plain(POLICY, extent.first) if there else None
    if value in (None, ""):
        return BY
    if not isinstance(value, str) or len(value) > LONGEST_NAME or not value.isprintable():
        raise StoreError(
            f"{frames.folder}: episode {extent.index}: its {POLICY} is {value!r:.60}: a name is "
            "needed, or no such column"
        )
    return value


def _seed(frames: Frames, extent: Extent, there: bool) -> int:
    if not there:
        return extent.index
    value: Any = frames.plain(SEED, extent.first)
    if type(value) is not int or not 0 <= value < SEEDS:
        raise StoreError(
            f"{frames.folder}: episode {extent.index}: its {SEED} is {value!r}: a whole number "
            "of at least 0 is needed, or no such column"
        )
    if len(frames.table[SEED].slice(extent.first, extent.length).unique()) > 1:
        raise StoreError(f"{frames.folder}: episode {extent.index}: its {SEED} changes within it")
    return value


def _verdict(success: bool) -> Verdict:
    outcome = Outcome.SUCCESS if success else Outcome.FAILURE
    return Verdict(outcome, score=float(success), reason="as its dataset says, not judged here")
