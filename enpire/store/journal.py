"""What each batch keeps of the ledger, so that a ledger that is lost can be made again.

after       hash of the chain's newest link when the batch was written
at          Unix time [s]
intervals   robot time recorded with the batch
frames      pictures of its evidence: sha256 by name
kept        rows that other tables got since the last batch but one, and facts, rounds and states
            of policies where they changed; as JSON in a string, for numbers that are not finite
sha256      over all of the batch without this entry
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any

from enpire.errors import StoreError
from enpire.json_text import loads
from enpire.store.episodes import Batch, digest, episodes_of, read_files, read_journal
from enpire.store.ledger import Ledger
from enpire.store.rows import Interval, Phase
from enpire.types import Episode


@dataclass(frozen=True, slots=True)
class Journal:
    """What a batch says beside its episodes; of a batch of before journals: nothing."""

    after: str | None = None
    at: float | None = None
    intervals: tuple[Interval, ...] = ()
    frames: Mapping[str, str] | None = None
    kept: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class WholeBatch:
    """A batch with all that it says, in good order."""

    batch: Batch
    episodes: tuple[Episode, ...]
    journal: Journal


def journal_of(
    ledger: Ledger, intervals: Sequence[Interval], frames: Mapping[str, str]
) -> dict[str, object]:
    """What a batch that is about to be written keeps of `ledger`, as JSON values."""
    return {
        "after": ledger.end.sha256,
        "at": time.time(),
        "intervals": [list(astuple(interval)) for interval in intervals],
        "frames": dict(frames),
        "kept": json.dumps(ledger.journal()),
    }


def read_whole(path: Path) -> WholeBatch:
    """A batch with its journal, checked against its own hash if it has one.

    Raises:
        StoreError: it is not in good order.
    """
    files = read_files(path)
    episodes = episodes_of(path, files)
    try:
        said = read_journal(files)
        journal = Journal() if said is None else _parsed(said)
    except (KeyError, TypeError, ValueError) as error:
        raise StoreError(f"the journal of batch {path} does not parse ({error!r})") from error
    batch = Batch(path, digest(files), sum(map(len, files.values())))
    return WholeBatch(batch, tuple(episodes), journal)


def _parsed(said: Mapping[str, Any]) -> Journal:
    intervals = tuple(
        Interval(int(station), Phase(phase), float(start), float(end), str(episode))
        for station, phase, start, end, episode in said["intervals"]
    )
    kept = loads(said["kept"])
    return Journal(str(said["after"]), float(said["at"]), intervals, dict(said["frames"]), kept)


def record_again(ledger: Ledger, batches: Mapping[str, WholeBatch]) -> None:
    """Make the rows of batches that the ledger does not know, and others that they have kept.

    batches: by their paths relative to the run folder, in the order of their names.
    """
    if not batches:
        return  # what follows reads much
    for whole in batches.values():
        if whole.journal.kept is not None:
            ledger.replay(whole.journal.kept)
    known = set(ledger.intervals())  # a later batch has kept those of an earlier one
    for path, whole in batches.items():
        journal, batch = whole.journal, whole.batch
        at = batch.path.stat().st_mtime if journal.at is None else journal.at
        new = [interval for interval in journal.intervals if interval not in known]
        ledger.add_batch(path, batch.sha256, batch.bytes, whole.episodes, new, at)
