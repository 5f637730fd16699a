"""Files of a run that its ledger does not know, and what becomes of them: none is ever deleted."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from enpire.errors import StoreError
from enpire.store.durable import TEMPORARY_PREFIX, disk_errors, fsync, make_folder
from enpire.store.journal import WholeBatch, read_whole, record_again
from enpire.store.layout import BATCH, EPISODES, EVIDENCE, LOST, POLICIES, batch_number
from enpire.store.ledger import Ledger
from enpire.store.rows import LogEntry
from enpire.store.seal import unseal

FOUND = "found"  # kind of the decision that says what an opening found and did


@dataclass(frozen=True, slots=True)
class Orphans:
    """Paths relative to the run folder."""

    batches: Mapping[str, WholeBatch]  # whole batches without a row, in the order of their names
    rest: tuple[str, ...]  # what is half written, damaged, or belongs to nothing


def find(folder: Path, ledger: Ledger) -> Orphans:
    """What lies in a run's folder without a row in its ledger."""
    recorded = ledger.batches()
    whole: dict[str, WholeBatch] = {}
    rest = _temporary(folder)
    for path in sorted(batches_on_disk(folder) - recorded):
        try:
            whole[path] = read_whole(folder / path)
        except StoreError:
            rest.append(path)
    rest += sorted(policies_on_disk(folder) - {row.path for row in ledger.policies()})
    rest += sorted(_frames_on_disk(folder, recorded | whole.keys()))
    return Orphans(whole, tuple(rest))


def take_in(folder: Path, ledger: Ledger) -> list[str]:
    """Make good what a process that died left behind, and record it; a sentence for each part.

    Nothing is deleted. The one batch that a killed process may leave without its row gets it; what
    is half written goes to `lost/`.

    Raises:
        StoreError: the ledger lacks more than a killed process leaves, or the disk refuses.
    """
    orphans = find(folder, ledger)
    if orphans.batches and not _left_by_a_kill(ledger, orphans):
        first = next(iter(orphans.batches))
        raise StoreError(
            f"{folder / first} is whole and its ledger has no row of it "
            f"({len(orphans.batches)} in all): the ledger lost a part, or is an older copy. "
            f"enpire fsck {folder} --repair makes the rows again"
        )
    unseal(folder)
    record_again(ledger, orphans.batches)
    died = "got its row: the process that wrote it died before"
    taken = note_found(ledger, [f"{path} {died}" for path in orphans.batches])
    return taken + note_found(ledger, set_aside(folder, orphans.rest))


def _left_by_a_kill(ledger: Ledger, orphans: Orphans) -> bool:
    """Whether nothing but the row of the newest batch is missing, as its journal tells."""
    ((path, whole), *more) = orphans.batches.items()
    after = whole.journal.after
    newest = all(path > other for other in ledger.batches())
    return not more and newest and after is not None and ledger.file.follows(after)


def note_found(ledger: Ledger, lines: list[str]) -> list[str]:
    """Record what was found in a folder and done about it, and return it."""
    for line in lines:
        ledger.add_decision(LogEntry(0, FOUND, line))
    return lines


def set_aside(folder: Path, paths: Iterable[str], why: str = "has no row") -> list[str]:
    """Move files and folders of a run to its `lost/`; a sentence about each.

    Raises:
        StoreError: the disk does not take it.
    """
    told = []
    for path in paths:
        target = _free(folder / LOST / path)
        with disk_errors(target):
            make_folder(target.parent)
            (folder / path).rename(target)
            fsync(target.parent)
            fsync((folder / path).parent)
        told.append(f"{path} {why} and moved to {target.relative_to(folder)}")
    return told


def batches_on_disk(folder: Path) -> set[str]:
    """Paths of all batches of a run, relative to its folder."""
    at = folder / EPISODES
    found = os.listdir(at) if at.is_dir() else ()
    return {f"{EPISODES}/{name}" for name in found if BATCH.fullmatch(name)}


def policies_on_disk(folder: Path) -> set[str]:
    """Paths of all policies of a run, relative to its folder."""
    return {f"{POLICIES}/{path.name}" for path in (folder / POLICIES).glob("[!.]*.safetensors")}


def _temporary(folder: Path) -> list[str]:
    """What a process that died was about to publish."""
    named = [folder / name for name in (EPISODES, POLICIES, EVIDENCE)]
    return [
        path.relative_to(folder).as_posix()
        for at in (folder, *(each for each in named if each.is_dir()))
        for path in sorted(at.iterdir())
        if path.name.startswith(TEMPORARY_PREFIX)
    ]


def _frames_on_disk(folder: Path, without: Iterable[str]) -> set[str]:
    """Pictures of batches other than those at `without`."""
    known = {batch_number(path) for path in without}
    pictures = (folder / EVIDENCE).glob("[!.]*.png")
    return {f"{EVIDENCE}/{p.name}" for p in pictures if p.name.split("-")[0] not in known}


def _free(path: Path) -> Path:
    """A path that nothing is at: the same, or with a number behind it."""
    number, free = 1, path
    while free.exists():
        number += 1
        free = path.with_name(f"{path.name}-{number}")
    return free
