"""A run: one folder with everything that happened in it.

config.toml      what was asked for
ledger.sqlite    what happened; an episode or a policy exists when it has a row here
ledger.sha256    of that file, while no process writes (`seal.py`)
episodes/        batches, each a zarr v3 group in a zip archive
evidence/        what cameras showed the verifier, <batch>-<place in it>-<camera>.png
policies/        *.safetensors
stress/          what policies achieve under changes, <policy>.json (`stress.py`)
curves/          how each training went, lines of JSON (`curves.py`)
tensorboard/     curves again, and success over robot time, as TensorBoard's event files
lost/            what an opening found and could not explain (`orphans.py`); nothing reads it
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
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import date
from itertools import batched
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import cv2
import numpy as np
import tomli_w
from numpy.typing import NDArray

from enpire.closing import Closing
from enpire.errors import StoreError
from enpire.store import schema, weights
from enpire.store.archive import SUFFIX
from enpire.store.durable import disk_errors, fsync, publish_file
from enpire.store.episodes import frozen, write_frozen
from enpire.store.journal import journal_of, record_again
from enpire.store.layout import (
    CONFIG,
    CONFIG_HASH,
    EPISODES,
    EVIDENCE,
    LEDGER,
    LOCK,
    NO_RESULT,
    POLICIES,
    RESULT,
    RESULT_HASH,
    SEAL,
    batch_number,
)
from enpire.store.ledger import Ledger
from enpire.store.ledger_file import LedgerFile
from enpire.store.lock import WriterLock, is_held, short_reading, without_short_readers
from enpire.store.origin import ORIGIN, mark
from enpire.store.orphans import Orphans, batches_on_disk, find, policies_on_disk, set_aside
from enpire.store.rows import EpisodeRow, Interval, LogEntry, PolicyRow
from enpire.store.seal import holds, seal
from enpire.store.stored_episode import BatchReader, stored_episode
from enpire.store.weights import sha256_of
from enpire.types import Episode, Purpose

if TYPE_CHECKING:
    import torch

MADE_BY = ("loop", "collect", "eval", "import", "rank")  # commands that make a run of a task

AT_ONCE = 1000  # ids that one query names

FOUND = "found"  # kind of the decision that says what an opening found and did

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


def default_folder(task: str, root: Path = Path("runs"), day: date | None = None) -> Path:
    """The first free `runs/<YYYYMMDD>-<task>-<n>`, counting from 1; today unless `day` is given."""
    stem = f"{day or date.today():%Y%m%d}-{task}"
    number = 1
    while (root / f"{stem}-{number}").exists():
        number += 1
    return root / f"{stem}-{number}"


def is_run(folder: Path) -> bool:
    """Whether a folder is a run, or what is left of one."""
    return any((folder / name).exists() for name in (LEDGER, CONFIG, EPISODES))


def under_way(folder: Path) -> bool:
    """Whether a process writes to the run in `folder` now."""
    return is_held(folder / LOCK)


class Run(Closing):
    """An open run folder. Use `create` or `open`, then `close` (or a `with` block).

    A writable run is the folder's only writer and may be called from several threads. Every method
    raises StoreError with what to do.

    Attributes:
        folder, config: where it is, and what was asked for.
        ledger: its record.
        notes: what opening it for writing found and did, a sentence each, to be told.
    """

    def __init__(
        self,
        folder: Path,
        config: dict[str, Any],
        lock: WriterLock | None,
        damaged: bool = False,
        brief: bool = False,
        following: bool = False,
    ) -> None:
        self.folder = folder
        self.config = config
        writable = lock is not None
        live = writable or under_way(folder)
        sealed = not brief and (writable or not live) and holds(folder)
        file = LedgerFile(folder / LEDGER, writable, damaged, live, brief, following, sealed)
        self.ledger = Ledger(file)
        self.notes: list[str] = []
        self._lock = lock
        self._adding = threading.Lock()
        self._batches = BatchReader(folder)
        self._next_batch = 0

    @classmethod
    def create(cls, folder: Path, config: Mapping[str, Any]) -> Self:
        """Make a new run in `folder`, which is made too, and open it for writing.

        The ledger comes last: a folder with a ledger is a whole run. `config` is written once.
        """
        text = config_text(config)
        if not folder.name.isprintable():
            raise StoreError(f"a run cannot be called {folder.name!r}: name it by letters")
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
    def open(
        cls,
        folder: Path,
        writable: bool = False,
        damaged: bool = False,
        following: bool = False,
    ) -> Self:
        """Open a run to read it, or to continue it.

        Continuing deletes nothing. The one batch that a killed process may leave without its row
        gets it; what is half written goes to `lost/`; `notes` tells of both.

        Args:
            folder: of the run.
            writable: to continue it.
            damaged: open a ledger too that is not what was recorded, to read it: `damage` says
                what it is.
            following: read rows too that the run's writer adds from now on; for a process that the
                writer waits for. Other readers have the ledger as it was when they opened it.
        """
        _require_run(folder)
        lock = WriterLock(folder / LOCK) if writable else None
        try:
            run = cls(folder, _read_config(folder / CONFIG), lock, damaged, following=following)
            try:
                if not damaged:
                    run._require_config()
                if writable:
                    run._take_in()
                    run._require_files()
            except BaseException:
                run.ledger.close()
                raise
            return run
        except BaseException:
            if lock is not None:
                lock.release()
            raise

    @classmethod
    @contextmanager
    def glance(cls, folder: Path) -> Iterator[Self]:
        """Open a run for a moment, to see what is new; one under way is not disturbed by it.

        Nothing is held against what was recorded, and no file is made. A writer that ends waits
        for whoever looks, so do it shortly.

        Raises:
            StoreError: it cannot be read; of a run that is being closed, not yet.
        """
        _require_run(folder)
        with short_reading(folder):
            run = cls(folder, _read_config(folder / CONFIG), None, damaged=True, brief=True)
            try:
                yield run
            finally:
                run.ledger.close()

    @property
    def asked(self) -> Mapping[str, Any]:
        """What it was asked for: the table of its config that is named after the command."""
        found: Mapping[str, Any] = next((self.config[c] for c in MADE_BY if c in self.config), {})
        return found

    def close(self) -> None:
        """Close the ledger and let another writer in; safe to call twice."""
        if self._lock is None or not self._lock.held:
            self.ledger.close()
            return
        # A page that the disk has changed since it was read must not be sealed with the others.
        whole = self.ledger.file.is_whole()
        with without_short_readers(self.folder):
            self.ledger.close()
            if whole:
                seal(self.folder)
            self._lock.release()

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
            path = f"{EPISODES}/{self._free_batch():08d}{SUFFIX}"
            # File first, row last. A file whose row fails is left for the next opening: after a
            # failed commit only the ledger, read anew, can say whether the row is there.
            frames = self._keep_frames(batch_number(path), kept)
            kept = [_without_frames(episode) for episode in kept]
            journal = journal_of(self.ledger, intervals, frames)
            batch = write_frozen(self.folder / path, kept, journal)
            at = float(str(journal["at"]))
            self.ledger.add_batch(path, batch.sha256, batch.bytes, kept, intervals, at)

    def _keep_frames(self, batch: str, episodes: Sequence[Episode]) -> dict[str, str]:
        """Write what the verifier's cameras showed; the sha256 of each file by its name."""
        folder = self.folder / EVIDENCE
        hashes: dict[str, str] = {}
        for place, episode in enumerate(episodes):
            for frame in episode.verdict.frames:
                with disk_errors(folder):
                    folder.mkdir(exist_ok=True)
                _, png = cv2.imencode(".png", frame.image[..., ::-1])  # OpenCV takes blue first
                data = png.tobytes()
                path = folder / f"{batch}-{place}-{frame.name}.png"
                publish_file(path, data)
                hashes[path.name] = hashlib.sha256(data).hexdigest()
        return hashes

    def evidence(self, episode: str) -> list[Path]:
        """Pictures that the verifier kept of an episode; none where it did not look."""
        rows = [row for row in self.ledger.episodes() if row.id == episode]
        return [
            path
            for row in rows
            for path in sorted(
                (self.folder / EVIDENCE).glob(f"{batch_number(row.path)}-{row.index}-*.png")
            )
        ]

    def _free_batch(self) -> int:
        if not self._next_batch:
            numbers = (int(batch_number(path)) for path in batches_on_disk(self.folder))
            self._next_batch = max(numbers, default=0) + 1
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
        """Recorded episodes in the order of recording.

        None does not filter. Sealed episodes are left out unless `without` is None, so that no
        recipe meets them by accident. Arrays are read-only, and read from the disk when they are
        asked for: StoreError then tells of a batch that is not what was recorded.
        """
        purposes = (purpose,) if isinstance(purpose, Purpose) else purpose
        if purposes is not None and without is not None and without in purposes:
            raise StoreError(
                f"{without} episodes are asked for and left out at once: pass without=None"
            )
        return self._stored(self.ledger.episodes(purposes, policies, rounds, without))

    def episodes_of(self, ids: Iterable[str]) -> dict[str, Episode]:
        """Those of `ids` that are recorded, by id; see `episodes`."""
        return {
            episode.id: episode
            for some in batched(ids, AT_ONCE)
            for episode in self._stored(self.ledger.episodes(ids=some))
        }

    def _stored(self, rows: Iterable[EpisodeRow]) -> list[Episode]:
        return [stored_episode(self._batches, row) for row in rows]

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
        """Replace `result.json`; numbers that are not finite become null.

        The ledger knows of the new one before it is there, and of the old one until then: whichever
        a process that dies leaves was recorded.
        """
        self._require_writable()
        text = json.dumps(_plain(result), indent=2, allow_nan=False)
        data = text.encode() + b"\n"
        new, path = hashlib.sha256(data).hexdigest(), self.folder / RESULT
        old = sha256_of(path) if path.is_file() else NO_RESULT
        self.ledger.set_facts({RESULT_HASH: f"{old} {new}"})
        publish_file(path, data)
        self.ledger.set_facts({RESULT_HASH: new})

    @property
    def damage(self) -> list[str]:
        """A sentence for whatever of the ledger or the configuration is not what was recorded."""
        said = self.ledger.facts().get(CONFIG_HASH, "") if not self.ledger.file.damage else ""
        changed = said and sha256_of(self.folder / CONFIG) != said
        what = f"{CONFIG}: it is not what was written when the run began"
        return [
            *(f"{LEDGER}: {line}" for line in self.ledger.file.damage),
            *([what] if changed else []),
        ]

    def _require_config(self) -> None:
        if self.damage:
            raise StoreError(
                f"{self.folder / CONFIG} is not what was written when the run began (its sha256 "
                "differs): undo the change, or take the one of a copy of the run"
            )

    def _take_in(self) -> None:
        """Make good what a process that died left behind; see `open`."""
        orphans = find(self.folder, self.ledger)
        if orphans.batches and not self._left_by_a_kill(orphans):
            first = next(iter(orphans.batches))
            raise StoreError(
                f"{self.folder / first} is whole and its ledger has no row of it "
                f"({len(orphans.batches)} in all): the ledger lost a part, or is an older copy. "
                f"enpire fsck {self.folder} --repair makes the rows again"
            )
        with disk_errors(self.folder):
            (self.folder / SEAL).unlink(missing_ok=True)
            fsync(self.folder)  # or it would come back, beside a ledger that has more
        record_again(self.ledger, orphans.batches)
        for path in orphans.batches:
            self.note_found(f"{path} got its row: the process that wrote it died before")
        for line in set_aside(self.folder, orphans.rest):
            self.note_found(line)

    def _left_by_a_kill(self, orphans: Orphans) -> bool:
        """Whether nothing but the row of the newest batch is missing, as its journal tells."""
        ((path, whole), *more) = orphans.batches.items()
        after = whole.journal.after
        newest = all(path > other for other in self.ledger.batches())
        return not more and newest and after is not None and self.ledger.file.follows(after)

    def note_found(self, text: str) -> None:
        """Tell and record what was found in the folder and done about it."""
        self.notes.append(text)
        self.ledger.add_decision(LogEntry(0, FOUND, text))

    def missing(self) -> list[str]:
        """Batches and policies that are recorded and not there, relative to the folder."""
        # Rows are read before the files: a writer at work may add both in between.
        recorded = self.ledger.batches() | {p.path for p in self.ledger.policies()}
        return sorted(recorded - batches_on_disk(self.folder) - policies_on_disk(self.folder))

    def _require_files(self) -> None:
        if missing := self.missing():
            raise StoreError(
                f"{self.folder / missing[0]} is recorded but missing ({len(missing)} in all): copy "
                f"it from a copy of the run; enpire fsck {self.folder} says what else is amiss"
            )


def _without_frames(episode: Episode) -> Episode:
    """The episode as a batch has it: what cameras showed the verifier lies beside it."""
    if not episode.verdict.frames:
        return episode
    return replace(episode, verdict=replace(episode.verdict, frames=()))


def _lay_out(folder: Path, config: str) -> None:
    """Fill an empty folder, or leave it empty: a full disk must not spoil the name."""
    try:
        with disk_errors(folder):
            (folder / EPISODES).mkdir()
            (folder / POLICIES).mkdir()
        publish_file(folder / CONFIG, config.encode())
        schema.create(folder / LEDGER, facts_of_config(config))
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
                raise StoreError(f"{folder} lacks {needed}: copy it from a copy of the run")
        return
    if count := len(batches_on_disk(folder)):
        raise StoreError(
            f"{ledger} is missing or empty, and {count} batches of episodes are beside it: "
            f"enpire fsck {folder} --repair makes a ledger again from them"
        )
    if ledger.exists() or (folder / CONFIG).exists() or (folder / EPISODES).exists():
        raise StoreError(
            f"{folder} is a run that was never fully created ({LEDGER} is missing or empty): "
            "it holds no record; remove the folder and start again"
        )
    raise StoreError(f"{folder} is not a run folder (it has no {LEDGER}): check the path")


def facts_of_config(text: str) -> dict[str, str]:
    """What a ledger says of the configuration it goes with."""
    return {CONFIG_HASH: hashlib.sha256(text.encode()).hexdigest(), ORIGIN: mark(text.encode())}


def config_text(config: Mapping[str, Any]) -> str:
    """What `config.toml` holds; raises StoreError for what TOML has no word for."""
    try:
        return tomli_w.dumps(config)
    except (TypeError, ValueError) as error:
        raise StoreError(f"the configuration cannot be written as TOML: {error}") from error


def _read_config(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise StoreError(
            f"{path} does not parse ({error}): correct it, or take the one of a copy of the run"
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
