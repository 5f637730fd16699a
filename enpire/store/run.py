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
import re
import threading
import tomllib
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import batched
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from numpy.typing import NDArray

from enpire.closing import Closing
from enpire.errors import StoreError
from enpire.store import orphans, weights
from enpire.store.archive import SUFFIX
from enpire.store.durable import disk_errors, make_folder, publish_file
from enpire.store.episodes import frozen, write_frozen
from enpire.store.evidence import frames_of, without_frames, write_frames
from enpire.store.journal import journal_of
from enpire.store.layout import (
    CONFIG,
    CONFIG_HASH,
    EPISODES,
    LEDGER,
    LOCK,
    NO_RESULT,
    POLICIES,
    RESULT,
    RESULT_HASH,
    batch_number,
)
from enpire.store.ledger import Ledger
from enpire.store.ledger_file import LedgerFile
from enpire.store.lock import WriterLock, short_reading, without_short_readers
from enpire.store.result import result_bytes
from enpire.store.rows import EpisodeRow, Interval, PolicyRow
from enpire.store.run_folder import config_text, lay_out, read_config, require_run, under_way
from enpire.store.seal import holds, seal
from enpire.store.stored_episode import BatchReader, stored_episode
from enpire.store.weights import sha256_of
from enpire.types import Episode, Purpose

if TYPE_CHECKING:
    import torch

MADE_BY = ("loop", "collect", "eval", "import", "rank")  # commands that make a run of a task

AT_ONCE = 1000  # ids that one query names

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


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
            make_folder(folder)
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
            lay_out(folder, text)
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
        require_run(folder)
        lock = WriterLock(folder / LOCK) if writable else None
        try:
            run = cls(folder, read_config(folder / CONFIG), lock, damaged, following=following)
            try:
                if not damaged:
                    run._require_config()
                if writable:
                    run.notes += orphans.take_in(folder, run.ledger)
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
        require_run(folder)
        with short_reading(folder):
            run = cls(folder, read_config(folder / CONFIG), None, damaged=True, brief=True)
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
            frames = write_frames(self.folder, batch_number(path), kept)
            kept = [without_frames(episode) for episode in kept]
            journal = journal_of(self.ledger, intervals, frames)
            batch = write_frozen(self.folder / path, kept, journal)
            at = float(str(journal["at"]))
            self.ledger.add_batch(path, batch.sha256, batch.bytes, kept, intervals, at)

    def evidence(self, episode: str) -> list[Path]:
        """Pictures that the verifier kept of an episode; none where it did not look."""
        return [
            path
            for row in self.ledger.episodes(ids=[episode])
            for path in frames_of(self.folder, row)
        ]

    def _free_batch(self) -> int:
        if not self._next_batch:
            numbers = (int(batch_number(path)) for path in orphans.batches_on_disk(self.folder))
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

    def let_go(self) -> None:
        """Keep no arrays in memory: whoever asks for some has them read again."""
        self._batches.let_go()

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
        data = result_bytes(result)
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

    def missing(self) -> list[str]:
        """Batches and policies that are recorded and not there, relative to the folder."""
        # Rows are read before the files: a writer at work may add both in between.
        recorded = self.ledger.batches() | {p.path for p in self.ledger.policies()}
        return sorted(
            recorded - orphans.batches_on_disk(self.folder) - orphans.policies_on_disk(self.folder)
        )

    def _require_files(self) -> None:
        if missing := self.missing():
            raise StoreError(
                f"{self.folder / missing[0]} is recorded but missing ({len(missing)} in all): copy "
                f"it from a copy of the run; enpire fsck {self.folder} says what else is amiss"
            )
