"""Episodes of a run, of which what lies in their batch is read when somebody asks for it.

A run of 100,000 episodes has more arrays than memory. Most of who goes through episodes wants their
seeds and verdicts only, which the ledger has.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from sys import intern
from typing import Any

from enpire.store.episodes import read_batch
from enpire.store.rows import EpisodeRow
from enpire.types import Episode, Times, Verdict

MOST_BYTES = 1 << 30  # of batches that a run keeps in memory once they were read

IN_BATCH = frozenset(
    {
        *("task", "exploration", "packs", "variant", "forked", "attempts", "staleness"),
        *("observations", "actions", "stamps", "rewards", "intervened", "rewound"),
        *("pictures", "pictured", "joints", "setpoints"),
    }
)
"""Fields of an episode that no row has."""


class BatchReader:
    """The batches of one run, the latest of which stay in memory; any thread may ask."""

    def __init__(self, folder: Path, most_bytes: int = MOST_BYTES) -> None:
        """folder: of the run. most_bytes: how much stays; the last batch always does."""
        self._folder = folder
        self._most = most_bytes
        self._turn = threading.Lock()
        self._kept: OrderedDict[str, tuple[int, Sequence[Episode]]] = OrderedDict()
        self._bytes = 0

    def episode(self, path: str, sha256: str, size: int, index: int) -> Episode:
        """One episode, whole.

        Args:
            path: of its batch, relative to the folder.
            sha256: that the batch must have.
            size: of the batch [bytes].
            index: of the episode in it.

        Raises:
            StoreError: the batch is not what was recorded.
        """
        with self._turn:
            if path in self._kept:
                self._kept.move_to_end(path)
            else:
                self._kept[path] = size, read_batch(self._folder / path, sha256)
                self._bytes += size
                while self._bytes > self._most and len(self._kept) > 1:
                    self._bytes -= self._kept.popitem(last=False)[1][0]
            return self._kept[path][1][index]

    def let_go(self) -> None:
        """Keep none in memory."""
        with self._turn:
            self._kept.clear()
            self._bytes = 0


@dataclass(frozen=True, slots=True)
class _Place:
    """Where an episode lies; see `BatchReader.episode`."""

    reader: BatchReader
    path: str
    sha256: str
    size: int
    index: int

    def read(self) -> Episode:
        return self.reader.episode(self.path, self.sha256, self.size, self.index)


class StoredEpisode(Episode):
    """An episode by its row; any field of `IN_BATCH` is looked up in its batch each time.

    Reading such a field raises StoreError where the batch is not what was recorded.
    """

    __slots__ = ("_place",)

    _place: _Place

    def __getattr__(self, name: str) -> Any:
        """A field that was not set: it is in the batch."""
        if name not in IN_BATCH:
            raise AttributeError(name)
        return getattr(self._place.read(), name)


class StoredVerdict(Verdict):
    """A verdict by its episode's row; its predicates are looked up as those of `IN_BATCH` are."""

    __slots__ = ("_place",)

    _place: _Place

    def __getattr__(self, name: str) -> Any:
        """A field that was not set."""
        if name != "predicates":
            raise AttributeError(name)
        return self._place.read().verdict.predicates

    def __eq__(self, other: object) -> bool:
        """As verdicts are, of either class."""
        return isinstance(other, Verdict) and _fields_of(self) == _fields_of(other)

    def __hash__(self) -> int:
        return hash(_fields_of(self))


def _fields_of(verdict: Verdict) -> tuple[object, ...]:
    return verdict.outcome, verdict.predicates, verdict.score, verdict.stage, verdict.reason


def stored_episode(reader: BatchReader, row: EpisodeRow) -> Episode:
    """Return the episode of a row; texts that many rows have are held once."""
    place = _Place(reader, intern(row.path), intern(row.sha256), row.bytes, row.index)
    verdict = _known(
        StoredVerdict,
        outcome=row.outcome,
        score=row.score,
        stage=intern(row.stage),
        reason=intern(row.reason),
        frames=(),
        _place=place,
    )
    return _known(
        StoredEpisode,
        id=row.id,
        seed=row.seed,
        purpose=row.purpose,
        policy=intern(row.policy),
        round=row.round,
        station=row.station,
        verdict=verdict,
        times=Times(row.reset_s, row.execute_s, row.verify_s),
        _place=place,
    )


def _known[T](kind: type[T], **fields: object) -> T:
    """Return one of a frozen class of which these fields are known, and no others."""
    made = kind.__new__(kind)
    for name, value in fields.items():
        object.__setattr__(made, name, value)
    return made
