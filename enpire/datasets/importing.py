"""A LeRobot dataset as episodes: demonstrations that somebody gave elsewhere."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from enpire.datasets import compatibility, notices
from enpire.datasets.columns import ACTION, PICTURES, POLICY, SEED
from enpire.datasets.compatibility import Allowed, Chosen, TaskInterface
from enpire.datasets.folder import Extent, Frames, describe, read_frames, require_paced
from enpire.datasets.tables import pointing_columns, require_pointed
from enpire.errors import StoreError
from enpire.types import Episode, FloatArray, Outcome, Purpose, Times, Verdict

BY = "imported"  # the policy of an episode whose dataset does not say
HELP = "intervention"
SEEDS = 2**63  # a seed is below
LONGEST_NAME = 200  # letters, of a policy


@dataclass(frozen=True, slots=True)
class Imported:
    """Episodes of a dataset, in its order. said: what was assumed of it, for a person."""

    episodes: tuple[Episode, ...]
    said: tuple[str, ...]


def demonstrations(folder: Path, wanted: TaskInterface, allowed: Allowed | None = None) -> Imported:
    """The episodes of a dataset as demonstrations of a task, each value of them looked at.

    They are successes if the dataset says so: `success`, `next.success` in any frame, or the column
    that `allowed` names. No verifier of ours has seen them, which each verdict's reason says.

    Raises:
        StoreError: there is no dataset, or what it has is not what the task means.
    """
    allowed = allowed or Allowed()
    folder = folder.resolve()
    said = describe(folder)
    seen = compatibility.seen_column(said.features)
    fps, paced = compatibility.rate(folder, said.fps, wanted, allowed)
    chosen = [
        compatibility.choose(folder, said.features, c, wanted, allowed) for c in (seen, ACTION)
    ]
    compatibility.require_renamed(folder, said.features, allowed)
    told = [name for name in (POLICY, SEED, HELP) if name in said.features]
    success = compatibility.success_columns(said.features, allowed)
    more = notices.more_columns(said.features)
    pointing = pointing_columns(folder, said)
    columns = list(dict.fromkeys([seen, ACTION, *success, *told, *more, *pointing]))
    frames = read_frames(folder, said, columns)
    require_paced(frames, (fps, said.fps))
    notices.require_ends(frames, said.features)
    require_pointed(frames, said, pointing)
    observations, whole_seen = _values(frames, chosen[0])
    actions, whole_done = _values(frames, chosen[1])
    clipped = compatibility.within_one(frames, chosen[1], actions, allowed.clip)
    compatibility.require_starts(frames, chosen[0], observations, wanted)
    pair = actions, observations
    moved = compatibility.require_motion(frames, chosen[1], pair, wanted, allowed.accept_motion)
    good, by = compatibility.successes(frames, said.features, allowed)
    helped = frames.flags(HELP) if HELP in told else np.zeros(len(frames), bool)
    made = tuple(
        Episode(
            id=f"imported-{folder.name}-{extent.index:06d}",
            task=wanted.task,
            seed=_seed(frames, extent, SEED in told),
            purpose=Purpose.DEMONSTRATION,
            policy=_policy(frames, extent, POLICY in told),
            round=0,
            station=0,
            verdict=_verdict(success),
            times=Times(),
            observations=observations[extent.first : extent.end].astype(np.float32),
            actions=actions[extent.first : extent.end].clip(-1.0, 1.0).astype(np.float32),
            stamps=(1.0 / fps) * np.arange(extent.length, dtype=np.float64),
            rewards=_verdict(success).rewards(extent.length),
            intervened=helped[extent.first : extent.end],
        )
        for extent, success in zip(frames.extents, good, strict=True)
    )
    twice = compatibility.told_twice(frames, np.hstack(pair))
    pictures = any(name.startswith(PICTURES) for name in said.features)
    assumed = [
        by,
        paced,
        *(one.said for one in chosen),
        whole_seen,
        whole_done,
        clipped,
        moved,
        twice,
        *notices.noticed(frames, said, pair, wanted),
    ]
    assumed += ["without its pictures"] if pictures else []
    return Imported(made, tuple(text for text in assumed if text))


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
