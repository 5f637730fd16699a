"""Batches of episodes as zarr v3 groups, each in one file, which one rename publishes.

One array a field (observations, actions, stamps, rewards; intervened, where somebody did; joints
and setpoints, where arms were recorded) with the episodes end to end along time; pictures and the
rows that they belong to, where any were taken.
The group's attributes hold `offsets` (episode i is rows offsets[i] to offsets[i + 1]), of pictures
`picture_offsets`, and `episodes`, everything else about each. A batch is read whole or not at
all, and never changes. Those of a run have a `journal`: what the ledger had when they were written
(`journal.py`), with a hash over all of the batch.

Until version 4 of the ledger a batch was a folder with the same files in it. Those are still read.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from enpire.errors import StoreError
from enpire.json_text import parsed
from enpire.store import archive, zarr3
from enpire.store.durable import publish_file
from enpire.types import Episode, Outcome, Predicate, Purpose, Times, Verdict

LAYOUT = 4
"""Newest version of the layout below. A batch has 4 in its attributes where hands went back before
somebody helped, else 3 where arms were recorded or pictures taken, else 2 where somebody
intervened, else 1."""

_FIELDS: dict[str, tuple[type[np.generic], int]] = {
    "observations": (np.float32, 2),
    "actions": (np.float32, 2),
    "stamps": (np.float64, 1),
    "rewards": (np.float32, 1),
    "intervened": (np.bool_, 1),
    "rewound": (np.bool_, 1),
    "joints": (np.float32, 2),
    "setpoints": (np.float32, 2),
}
_PICTURES = ("pictures", "pictured")
GROUP = "zarr.json"
_OF_ARMS = ("joints", "setpoints")


@dataclass(frozen=True, slots=True)
class Batch:
    """A published batch: where it is, the hash over its files, their size in bytes."""

    path: Path
    sha256: str
    bytes: int


def digest(files: zarr3.Files) -> str:
    """SHA-256 over names and contents in sorted order of names, each with its length before it."""
    total = hashlib.sha256()
    for name in sorted(files):
        _add(total, name, files[name])
    return total.hexdigest()


def _add(total: hashlib._Hash, name: str, content: bytes) -> None:
    for part in (name.encode(), content):
        total.update(len(part).to_bytes(8, "little"))
        total.update(part)


def frozen(episode: Episode) -> Episode:
    """The episode with read-only arrays of its own, checked against the contract of `Episode`.

    Raises StoreError naming the episode and the field that does not fit.
    """

    def wrong(what: str) -> StoreError:
        return StoreError(f"episode {episode.id!r} cannot be stored: {what}")

    if not episode.id:
        raise wrong("its id is empty")
    if not 0 <= episode.seed < 2**63:
        raise wrong(f"its seed {episode.seed} is not an unsigned integer of 63 bits")
    arrays: dict[str, Any] = {}
    periods = len(episode)
    for name, (dtype, ndim) in _FIELDS.items():
        array = _read_only(getattr(episode, name), dtype)
        if array.ndim != ndim:
            raise wrong(f"{name} has shape {array.shape}, not {ndim} dimensions")
        if len(array) != periods:
            raise wrong(f"{name} has {len(array)} rows, actions have {periods}")
        arrays[name] = array
    taken = _read_only(episode.pictures, np.uint8), _read_only(episode.pictured, np.int64)
    if taken[0].ndim != 5 or taken[1].shape != taken[0].shape[:1]:
        shapes = [array.shape for array in taken]
        raise wrong(f"pictures and the rows they belong to have shapes {shapes}")
    if len(taken[1]) and not 0 <= taken[1].min() <= taken[1].max() <= len(episode):
        raise wrong(f"a picture belongs to none of its {len(episode)} rows")
    arrays |= zip(_PICTURES, taken, strict=True)
    if episode.helped and episode.purpose in (Purpose.EVALUATION, Purpose.SEALED):
        raise wrong("somebody helped in it, which is no evaluation of a policy")
    return replace(episode, packs=dict(episode.packs), **arrays)


def _read_only(array: NDArray[Any], dtype: DTypeLike) -> NDArray[Any]:
    if array.dtype == dtype and array.flags.c_contiguous and not array.flags.writeable:
        return array
    copy = np.array(array, dtype=dtype, order="C")
    copy.flags.writeable = False
    return copy


def _number(value: float) -> float | str:
    """JSON has no NaN and no infinity: those go as the words that `float` reads back."""
    number = float(value)
    return number if np.isfinite(number) else str(number)


def _describe(episode: Episode) -> dict[str, object]:
    verdict, times = episode.verdict, episode.times
    return {
        "id": episode.id,
        "task": episode.task,
        "seed": int(episode.seed),
        "purpose": str(episode.purpose),
        "policy": episode.policy,
        "round": int(episode.round),
        "station": int(episode.station),
        "exploration": _number(episode.exploration),
        "variant": int(episode.variant),
        "forked": int(episode.forked),
        "attempts": int(episode.attempts),
        "staleness": int(episode.staleness),
        "packs": dict(episode.packs),
        "times": {name: _number(getattr(times, name)) for name in ("reset", "execute", "verify")},
        "verdict": {
            "outcome": str(verdict.outcome),
            "score": _number(verdict.score),
            "stage": verdict.stage,
            "reason": verdict.reason,
            "predicates": [
                {
                    "name": p.name,
                    "value": _number(p.value),
                    "threshold": _number(p.threshold),
                    "unit": p.unit,
                    "at_least": bool(p.at_least),
                    "accuracy": _number(p.accuracy),
                }
                for p in verdict.predicates
            ],
        },
    }


def _restore(about: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> Episode:
    verdict = about["verdict"]
    predicates = tuple(
        Predicate(
            p["name"],
            float(p["value"]),
            float(p["threshold"]),
            p["unit"],
            bool(p["at_least"]),
            float(p.get("accuracy", 0.0)),  # batches of before it was kept have none
        )
        for p in verdict["predicates"]
    )
    return Episode(
        id=about["id"],
        task=about["task"],
        seed=about["seed"],
        purpose=Purpose(about["purpose"]),
        policy=about["policy"],
        round=about["round"],
        station=about["station"],
        verdict=Verdict(
            Outcome(verdict["outcome"]),
            predicates,
            float(verdict["score"]),
            verdict["stage"],
            verdict["reason"],
        ),
        times=Times(**{name: float(value) for name, value in about["times"].items()}),
        exploration=float(about["exploration"]),
        packs=about["packs"],
        variant=about.get("variant", 0),  # runs of before there were any do not say
        forked=about.get("forked", 0),
        attempts=about.get("attempts", 1),
        staleness=about.get("staleness", 0),
        **arrays,
    )


def _encode(
    episodes: Sequence[Episode], journal: Mapping[str, object] | None = None
) -> tuple[zarr3.Files, str]:
    """The files of a batch, and the `digest` of them."""
    first = episodes[0]
    for episode in episodes:
        for name in ("observations", "actions"):
            width, expected = getattr(episode, name).shape[1], getattr(first, name).shape[1]
            if width != expected:
                raise StoreError(
                    f"episode {episode.id!r} has {width} {name} a row, {first.id!r} has {expected}:"
                    " store episodes of different tasks in batches of their own"
                )
    helped = any(episode.helped for episode in episodes)
    axes = max(episode.setpoints.shape[1] for episode in episodes)
    rewound = any(episode.rewound.any() for episode in episodes)
    without = set() if helped else {"intervened"}
    without |= set() if rewound else {"rewound"}
    if not axes:
        without |= set(_OF_ARMS)
    fields = [name for name in _FIELDS if name not in without]
    arrays = {name: np.concatenate([_rows(e, name, axes) for e in episodes]) for name in fields}
    attributes: dict[str, object] = {
        "layout": 4 if rewound else 3 if axes else 2 if helped else 1,
        "offsets": _offsets(len(episode) for episode in episodes),
        "episodes": [_describe(episode) for episode in episodes],
    }
    shown = [episode for episode in episodes if len(episode.pictures)]
    if shown:
        if len({episode.pictures.shape[1:] for episode in shown}) > 1:
            raise StoreError("pictures of one batch must have one size")
        arrays |= {n: np.concatenate([getattr(e, n) for e in shown]) for n in _PICTURES}
        counts = _offsets(len(episode.pictures) for episode in episodes)
        attributes |= {"layout": 4 if rewound else 3, "picture_offsets": counts}
    if journal is None:
        files = zarr3.encode(arrays, attributes)
        return files, digest(files)
    files = zarr3.encode(arrays, {**attributes, "journal": journal})
    # Two hashes differ by the group's file alone. Hashing the arrays is most of the work.
    others = hashlib.sha256()
    *names, last = sorted(files)
    if last != GROUP:
        raise StoreError(f"a batch cannot have an array {last!r}: its name comes after {GROUP}")
    for name in names:
        _add(others, name, files[name])
    plain, whole = others.copy(), others
    _add(plain, GROUP, files[GROUP])
    journal = {**journal, "sha256": plain.hexdigest()}
    files[GROUP] = zarr3.group_file({**attributes, "journal": journal})
    _add(whole, GROUP, files[GROUP])
    return files, whole.hexdigest()


def read_journal(files: zarr3.Files) -> dict[str, Any] | None:
    """What a batch has kept of the ledger; None for one of before there were journals.

    Raises StoreError where its own hash tells that the batch is not as it was written.
    """
    try:
        attributes = parsed(files[GROUP])["attributes"]
        if "journal" not in attributes:
            return None
        journal = dict(attributes["journal"])
        said = journal.pop("sha256")
        plain = {**files, GROUP: zarr3.group_file({**attributes, "journal": journal})}
    except (KeyError, TypeError, ValueError) as error:
        raise StoreError(f"its {GROUP} does not parse ({error!r})") from error
    if digest(plain) != said:
        raise StoreError("it is not what was written (its own sha256 differs)")
    return journal


def _offsets(lengths: Iterable[int]) -> list[int]:
    return [0, *accumulate(lengths)]


def _rows(episode: Episode, name: str, axes: int) -> NDArray[Any]:
    """A field of an episode; NaN for arms that it has not recorded, and others have."""
    rows: NDArray[Any] = getattr(episode, name)
    if name not in _OF_ARMS or rows.shape[1] == axes:
        return rows
    if rows.shape[1]:
        raise StoreError(
            f"episode {episode.id!r} has {rows.shape[1]} {name} a row, others have {axes}: store "
            "episodes of different robots in batches of their own"
        )
    return np.full((len(rows), axes), np.nan, np.float32)


def write_batch(
    path: Path, episodes: Sequence[Episode], journal: Mapping[str, object] | None = None
) -> Batch:
    """Publish one or more episodes of equal widths as the archive `path`, durably.

    Args:
        path: of a file that is not there, in a folder that is.
        episodes: of the batch.
        journal: JSON values, see `journal.py`.

    Raises:
        StoreError: the episodes do not fit together, or `publish_file` fails.
    """
    return write_frozen(path, [frozen(episode) for episode in episodes], journal)


def write_frozen(
    path: Path, episodes: Sequence[Episode], journal: Mapping[str, object] | None = None
) -> Batch:
    """Do as `write_batch` for episodes that `frozen` returned, which need no other look."""
    if not episodes:
        raise StoreError(f"batch {path} would be empty: pass at least one episode")
    files, sha256 = _encode(episodes, journal)
    publish_file(path, *archive.parts(files))
    return Batch(path, sha256, sum(map(len, files.values())))


def read_files(path: Path) -> zarr3.Files:
    """Return the files of a batch, which is an archive or, of an older run, a folder.

    Raises:
        StoreError: it is missing, damaged, or cannot be read.
    """
    try:
        return _in_folder(path) if path.is_dir() else archive.unpack(path.read_bytes())
    except FileNotFoundError as error:
        raise StoreError(f"batch {path} is missing: copy it from a copy of the run") from error
    except OSError as error:
        raise StoreError(f"batch {path} cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise _damaged(path, error) from error


def _in_folder(folder: Path) -> zarr3.Files:
    root = os.fspath(folder)
    paths = [os.path.join(parent, name) for parent, _, names in os.walk(root) for name in names]
    # Cut off, for `Path.relative_to` takes longer than to read the file.
    return {path[len(root) + 1 :]: Path(path).read_bytes() for path in paths}


def _damaged(path: Path, error: Exception) -> StoreError:
    return StoreError(
        f"batch {path} is damaged ({error}): replace it by the one of a copy of the run"
    )


def read_attributes(path: Path) -> dict[str, Any]:
    """Return the attributes of a batch, without reading its arrays or checking anything.

    Raises:
        OSError: it cannot be read.
        KeyError, TypeError, ValueError: they do not parse.
    """
    if path.is_dir():
        group = (path / GROUP).read_bytes()
    else:
        with path.open("rb") as file:
            group = archive.first(file)
    return dict(parsed(group)["attributes"])


def read_batch(path: Path, sha256: str | None = None) -> list[Episode]:
    """Return all episodes of a batch in the order they were written; arrays are read-only views.

    Args:
        path: of the batch.
        sha256: that was recorded of its files; None takes any.

    Raises:
        StoreError: it is missing, damaged, of a newer layout, or not what was recorded.
    """
    return episodes_of(path, read_files(path), sha256)


def episodes_of(path: Path, files: zarr3.Files, sha256: str | None = None) -> list[Episode]:
    """Return the episodes of a batch whose files have been read; see `read_batch`.

    Raises:
        StoreError: they are damaged, of a newer layout, or not what was recorded.
    """
    if sha256 is not None and digest(files) != sha256:
        raise StoreError(
            f"batch {path} is not what was recorded (its sha256 differs): "
            "replace it by the one of a copy of the run"
        )
    try:
        arrays, attributes = zarr3.decode(files)
        layout, offsets = attributes["layout"], attributes["offsets"]
        if layout > LAYOUT:
            raise StoreError(
                f"batch {path} has layout {layout}, newer than {LAYOUT}: update enpire"
            )
        rows: list[dict[str, NDArray[Any]]] = [{} for _ in attributes["episodes"]]
        for name, array in arrays.items():
            at = attributes["picture_offsets"] if name in _PICTURES else offsets
            for fields, start, stop in zip(rows, at[:-1], at[1:], strict=True):
                if name not in _PICTURES or start < stop:
                    fields[name] = array[start:stop]
        return [_restore(*each) for each in zip(attributes["episodes"], rows, strict=True)]
    except (KeyError, TypeError, ValueError) as error:
        raise _damaged(path, error) from error


def read_episode(path: Path, index: int) -> Episode:
    """The episode at place `index` of a batch."""
    episodes = read_batch(path)
    if not 0 <= index < len(episodes):
        raise StoreError(f"batch {path} holds {len(episodes)} episodes, none at {index}")
    return episodes[index]


def iterate(folder: Path) -> Iterator[Episode]:
    """Every episode of every batch under `folder` (a run's `episodes/`), in order of batch name.

    What is on the disk, whether or not a ledger knows of it: `Run.episodes` is the record.
    """
    for batch in sorted(folder.iterdir()):
        if batch.is_dir() or batch.suffix == archive.SUFFIX:
            yield from () if batch.name.startswith(".") else read_batch(batch)
