"""A run: one folder with everything that happened in it.

config.toml      what was asked for
ledger.sqlite    what happened; an episode or a policy exists when it has a row here
episodes/        zarr v3 group of batches
evidence/        what cameras showed the verifier, <batch>-<place in it>-<camera>.png
policies/        *.safetensors
stress/          what policies achieve under changes, <policy>.json (`stress.py`)
result.json      what came of it
report.html      the same to look at (`enpire report`)
"""

from __future__ import annotations

import hashlib
import json
import math
import re
import shutil
import threading
import tomllib
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import cv2
import numpy as np
import tomli_w
from numpy.typing import NDArray

from enpire.errors import StoreError
from enpire.store import ledger as ledgers
from enpire.store import weights, zarr3
from enpire.store.durable import TEMPORARY_PREFIX, disk_errors, publish_file
from enpire.store.episodes import frozen, read_batch, write_batch
from enpire.store.ledger import Ledger
from enpire.store.lock import WriterLock, held
from enpire.store.rows import EpisodeRow, Interval, PolicyRow
from enpire.types import Episode, Purpose

if TYPE_CHECKING:
    import torch

LEDGER, CONFIG, RESULT, LOCK = "ledger.sqlite", "config.toml", "result.json", "writer.lock"
EPISODES, POLICIES, EVIDENCE = "episodes", "policies", "evidence"
MADE_BY = ("loop", "collect", "eval", "import", "rank")  # commands that make a run of a task

_BATCH = re.compile(r"\d{8}")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


def default_folder(task: str, root: Path = Path("runs"), day: date | None = None) -> Path:
    """The first free `runs/<YYYYMMDD>-<task>-<n>`, counting from 1; today unless `day` is given."""
    stem = f"{day or date.today():%Y%m%d}-{task}"
    number = 1
    while (root / f"{stem}-{number}").exists():
        number += 1
    return root / f"{stem}-{number}"


def under_way(folder: Path) -> bool:
    """Whether a process writes to the run in `folder` now."""
    return held(folder / LOCK)


class Run:
    """An open run folder. Use `create` or `open`, then `close` (or a `with` block).

    A writable run is the folder's only writer and may be called from several threads. Every method
    raises StoreError with what to do.
    """

    def __init__(self, folder: Path, config: dict[str, Any], lock: WriterLock | None) -> None:
        self.folder = folder
        self.config = config
        self.ledger = Ledger(folder / LEDGER, writable=lock is not None)
        self._lock = lock
        self._adding = threading.Lock()
        self._cache: dict[str, Episode] = {}
        self._next_batch = 0

    @classmethod
    def create(cls, folder: Path, config: Mapping[str, Any]) -> Self:
        """Make a new run in `folder`, which is made too, and open it for writing.

        The ledger comes last: a folder with a ledger is a whole run. `config` is written once.
        """
        text = config_text(config)
        with disk_errors(folder):
            folder.mkdir(parents=True, exist_ok=True)
        lock = WriterLock(folder / LOCK)
        try:
            with disk_errors(folder):
                taken = sorted(p.name for p in folder.iterdir() if p.name != LOCK)
                if LEDGER in taken:
                    raise StoreError(f"{folder} holds a run already: continue it or choose another")
                if taken:
                    raise StoreError(
                        f"{folder} holds {taken[0]} and is no run: choose an empty or a new folder"
                    )
            _lay_out(folder, text)
            return cls(folder, tomllib.loads(text), lock)
        except BaseException:
            lock.release()
            raise

    @classmethod
    def open(cls, folder: Path, writable: bool = False) -> Self:
        """Open a run to read it, or to continue it (then what was half done is swept)."""
        _require_run(folder)
        lock = WriterLock(folder / LOCK) if writable else None
        try:
            run = cls(folder, _read_config(folder / CONFIG), lock)
            try:
                if writable:
                    run.sweep()
                run._require_files()
            except BaseException:
                run.ledger.close()
                raise
            return run
        except BaseException:
            if lock is not None:
                lock.release()
            raise

    @property
    def asked(self) -> Mapping[str, Any]:
        """What it was asked for: the table of its config that is named after the command."""
        found: Mapping[str, Any] = next((self.config[c] for c in MADE_BY if c in self.config), {})
        return found

    def close(self) -> None:
        """Close the ledger and let another writer in; safe to call twice."""
        self.ledger.close()
        if self._lock is not None:
            self._lock.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def writable(self) -> bool:
        """Whether this process is the run's writer."""
        return self._lock is not None

    def _require_writable(self) -> None:
        if not self.writable:
            raise StoreError(f"{self.folder} is open for reading only: open it with writable=True")

    # Episodes

    def add_episodes(self, episodes: Sequence[Episode], intervals: Sequence[Interval] = ()) -> None:
        """Record episodes of equal widths as one batch, and intervals with them.

        On return all of it is on the disk; on StoreError none of it is in the record. The arrays
        are copied.
        """
        self._require_writable()
        with self._adding:
            if not episodes:
                self.ledger.add_intervals(intervals)
                return
            kept = [frozen(episode) for episode in episodes]
            self._require_new([episode.id for episode in kept])
            path = f"{EPISODES}/{self._free_batch():08d}"
            # File first, row last. A file whose row fails is left for the sweep: after a failed
            # commit only the ledger, read anew, can say whether the row is there.
            self._keep_frames(Path(path).name, kept)
            kept = [replace(e, verdict=replace(e.verdict, frames=())) for e in kept]
            batch = write_batch(self.folder / path, kept)
            self.ledger.add_batch(path, batch.sha256, batch.bytes, kept, intervals)
            self._cache.update((episode.id, episode) for episode in kept)

    def _keep_frames(self, batch: str, episodes: Sequence[Episode]) -> None:
        """Write what the verifier's cameras showed; made when there is the first of it."""
        folder = self.folder / EVIDENCE
        for place, episode in enumerate(episodes):
            for frame in episode.verdict.frames:
                with disk_errors(folder):
                    folder.mkdir(exist_ok=True)
                _, png = cv2.imencode(".png", frame.image[..., ::-1])  # OpenCV takes blue first
                publish_file(folder / f"{batch}-{place}-{frame.name}.png", png.tobytes())

    def evidence(self, episode: str) -> list[Path]:
        """Pictures that the verifier kept of an episode; none where it did not look."""
        rows = [row for row in self.ledger.episodes() if row.id == episode]
        return [
            path
            for row in rows
            for path in sorted(
                (self.folder / EVIDENCE).glob(f"{Path(row.path).name}-{row.index}-*.png")
            )
        ]

    def _free_batch(self) -> int:
        if not self._next_batch:
            names = (p.name for p in (self.folder / EPISODES).iterdir())
            self._next_batch = max((int(n) for n in names if _BATCH.fullmatch(n)), default=0) + 1
        number = self._next_batch
        self._next_batch += 1
        return number

    def _require_new(self, ids: Sequence[str]) -> None:
        repeated = {id for id, count in Counter(ids).items() if count > 1} | self.ledger.known(ids)
        if repeated:
            raise StoreError(
                f"episode {min(repeated)!r} is recorded already in {self.folder}: "
                "give every episode an id of its own"
            )

    def episodes(
        self,
        purpose: Purpose | Collection[Purpose] | None = None,
        policies: Collection[str] | None = None,
        rounds: Collection[int] | None = None,
        without: Purpose | None = Purpose.SEALED,
    ) -> list[Episode]:
        """Recorded episodes in the order of recording; each is read from the disk once and kept.

        None does not filter. Sealed episodes are left out unless `without` is None, so that no
        recipe meets them by accident. Arrays are read-only.
        """
        purposes = (purpose,) if isinstance(purpose, Purpose) else purpose
        if purposes is not None and without is not None and without in purposes:
            raise StoreError(
                f"{without} episodes are asked for and left out at once: pass without=None"
            )
        rows = self.ledger.episodes(purposes, policies, rounds, without)
        self._read(rows)
        return [self._cache[row.id] for row in rows]

    def _read(self, rows: Iterable[EpisodeRow]) -> None:
        for path, sha256 in dict.fromkeys(
            (row.path, row.sha256) for row in rows if row.id not in self._cache
        ):
            for episode in read_batch(self.folder / path, sha256):
                self._cache.setdefault(episode.id, episode)

    # Policies

    def save_policy(
        self,
        name: str,
        tensors: Mapping[str, NDArray[Any] | torch.Tensor],
        metadata: Mapping[str, str],
        *,
        parent: str = "",
        recipe: str = "",
        round: int = 0,
        state: str = "candidate",
    ) -> PolicyRow:
        """Freeze a policy under a new name: its file, then its row."""
        self._require_writable()
        if not _NAME.fullmatch(name):
            raise StoreError(f"policy name {name!r} is not made of letters, digits and . _ -")
        if self.ledger.policy(name) is not None:
            raise StoreError(f"policy {name!r} exists already in {self.folder}: choose a new name")
        data = weights.to_bytes(tensors, metadata)
        path = f"{POLICIES}/{name}.safetensors"
        publish_file(self.folder / path, data)
        sha256 = hashlib.sha256(data).hexdigest()
        row = PolicyRow(name, sha256, path, parent, recipe, round, state)
        self.ledger.add_policy(row)
        return row

    def load_policy(self, name: str) -> tuple[weights.Tensors, dict[str, str]]:
        """Tensors by name and metadata of a saved policy, after checking its hash."""
        row = self.ledger.policy(name)
        if row is None:
            known = ", ".join(p.name for p in self.ledger.policies()) or "none"
            raise StoreError(f"{self.folder} has no policy {name!r}; it has: {known}")
        return weights.read(self.folder / row.path, row.sha256)

    # The rest of the folder

    def write_result(self, result: Mapping[str, Any]) -> None:
        """Replace `result.json`; numbers that are not finite become null."""
        self._require_writable()
        text = json.dumps(_plain(result), indent=2, allow_nan=False)
        publish_file(self.folder / RESULT, text.encode() + b"\n")

    def sweep(self) -> list[str]:
        """Remove files that have no row, left by a process that died; their paths are returned."""
        self._require_writable()
        with disk_errors(self.folder):
            orphans = [
                path.relative_to(self.folder).as_posix()
                for folder in self._folders()
                for path in sorted(folder.iterdir())
                if path.name.startswith(TEMPORARY_PREFIX)
            ]
            orphans += sorted(self._batches_on_disk() - self.ledger.batches())
            orphans += sorted(self._policies_on_disk() - {p.path for p in self.ledger.policies()})
            orphans += sorted(self._frames_on_disk(self.ledger.batches()))
            for orphan in orphans:
                path = self.folder / orphan
                if path.is_dir():
                    shutil.rmtree(path)
                else:
                    path.unlink()
        return orphans

    def _batches_on_disk(self) -> set[str]:
        folder = self.folder / EPISODES
        return {f"{EPISODES}/{p.name}" for p in folder.iterdir() if _BATCH.fullmatch(p.name)}

    def _folders(self) -> list[Path]:
        named = [self.folder / name for name in (EPISODES, POLICIES, EVIDENCE)]
        return [self.folder, *(folder for folder in named if folder.is_dir())]

    def _frames_on_disk(self, without: set[str]) -> set[str]:
        """Pictures of batches other than those at `without`."""
        return {
            f"{EVIDENCE}/{p.name}"
            for p in (self.folder / EVIDENCE).glob("[!.]*.png")
            if f"{EPISODES}/{p.name.split('-')[0]}" not in without
        }

    def _policies_on_disk(self) -> set[str]:
        folder = self.folder / POLICIES
        return {f"{POLICIES}/{p.name}" for p in folder.glob("[!.]*.safetensors")}

    def _require_files(self) -> None:
        # Rows are read before the files: a writer at work may add both in between.
        recorded = self.ledger.batches() | {p.path for p in self.ledger.policies()}
        missing = sorted(recorded - self._batches_on_disk() - self._policies_on_disk())
        if missing:
            raise StoreError(
                f"{self.folder / missing[0]} is recorded but missing ({len(missing)} in all): "
                "restore it from a copy of the run"
            )


def _lay_out(folder: Path, config: str) -> None:
    """Fill an empty folder, or leave it empty: a full disk must not spoil the name."""
    try:
        with disk_errors(folder):
            (folder / EPISODES).mkdir()
            (folder / POLICIES).mkdir()
        publish_file(folder / EPISODES / "zarr.json", zarr3.group_file({}))
        publish_file(folder / CONFIG, config.encode())
        ledgers.create(folder / LEDGER)
    except StoreError:
        for name in (EPISODES, POLICIES):
            shutil.rmtree(folder / name, ignore_errors=True)
        (folder / CONFIG).unlink(missing_ok=True)
        raise


def _require_run(folder: Path) -> None:
    if not folder.is_dir():
        raise StoreError(f"there is no run at {folder}: check the path, or start a new run")
    ledger = folder / LEDGER
    if ledger.is_file() and ledger.stat().st_size:
        for needed in (CONFIG, EPISODES, POLICIES):
            if not (folder / needed).exists():
                raise StoreError(f"{folder} lacks {needed}: restore it from a copy of the run")
        return
    if ledger.exists() or (folder / CONFIG).exists() or (folder / EPISODES).exists():
        raise StoreError(
            f"{folder} is a run that was never fully created ({LEDGER} is missing or empty): "
            "it holds no record; remove the folder and start again"
        )
    raise StoreError(f"{folder} is not a run folder (it has no {LEDGER}): check the path")


def config_text(config: Mapping[str, Any]) -> str:
    """What `config.toml` holds; raises StoreError for what TOML has no word for."""
    try:
        return tomli_w.dumps(config)
    except (TypeError, ValueError) as error:
        raise StoreError(f"the configuration cannot be written as TOML: {error}") from error


def _read_config(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise StoreError(
            f"{path} does not parse ({error}): correct it, or restore it from a copy of the run"
        ) from error


def _plain(value: Any) -> Any:
    """JSON values for numpy's numbers and arrays, null for what is not finite."""
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | np.ndarray):
        return [_plain(item) for item in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, Path):
        return str(value)
    raise StoreError(f"a result cannot hold {value!r} ({type(value).__name__})")
