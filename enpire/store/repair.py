"""Making a run's rows again from its batches. What was there before is kept in `lost/`."""

from __future__ import annotations

from pathlib import Path

from enpire.errors import StoreError
from enpire.store import orphans, schema
from enpire.store.chain import STATES, WRITTEN, Mark, changed_since
from enpire.store.durable import disk_errors, fsync, temporary_name
from enpire.store.journal import IN_BATCHES, record_again, replay
from enpire.store.layout import CONFIG, CONFIG_HASH, LEDGER, LOCK, POLICIES
from enpire.store.ledger import Ledger
from enpire.store.ledger_file import LedgerFile
from enpire.store.lock import WriterLock
from enpire.store.rows import PolicyRow
from enpire.store.seal import seal, unseal
from enpire.store.weights import sha256_of


def repair(folder: Path) -> list[str]:
    """Give every whole batch its rows, and set aside what nothing explains.

    A ledger that is missing, unreadable or not what was recorded is made again from what the
    batches have kept; rows of it that its chain still vouches for are taken over.

    Returns:
        What was done, a sentence each; it is recorded too.

    Raises:
        StoreError: somebody writes the run, or its ledger is of a newer version.
    """
    lock = WriterLock(folder / LOCK)
    try:
        unseal(folder)
        done = _remade(folder)
        with Ledger(LedgerFile(folder / LEDGER, writable=True)) as ledger:
            found = orphans.find(folder, ledger)
            record_again(ledger, found.batches)
            done += [f"{path} got its rows again" for path in found.batches]
            done += _policies_again(folder, ledger, found)
            rest = orphans.find(folder, ledger).rest
            done += orphans.set_aside(folder, rest)
            orphans.note_found(ledger, done)
        seal(folder)
        return done
    finally:
        lock.release()


def _remade(folder: Path) -> list[str]:
    """A new ledger where the one there is not to be trusted, with what of it still is.

    It takes the other's place once it is whole: a repair that is cut short begins anew.
    """
    try:
        old = LedgerFile(folder / LEDGER, writable=False, damaged=True, live=False)
    except StoreError as error:
        if "update enpire" in str(error):
            raise
        old = None
    if old is not None and not (old.damage or old.integrity()):
        old.close()
        return []
    new = temporary_name(folder / LEDGER)
    schema.create(new)
    with Ledger(LedgerFile(new, writable=True)) as ledger:
        batches = orphans.find(folder, ledger).batches
        record_again(ledger, batches)
        if old is not None:
            _take_over(old, ledger.file)
            old.close()
        if (folder / CONFIG).is_file():
            ledger.set_facts({CONFIG_HASH: sha256_of(folder / CONFIG)})
    aside = [
        path for path in (LEDGER, f"{LEDGER}-wal", f"{LEDGER}-shm") if (folder / path).exists()
    ]
    done = orphans.set_aside(folder, aside, "is not what was recorded")
    with disk_errors(folder):
        new.rename(folder / LEDGER)
        fsync(folder)
    done.append(f"{LEDGER} was made again from {len(batches)} batches")
    if old is not None and (changed := _changed(old) - IN_BATCHES):
        tables = ", ".join(sorted(changed))
        done.append(f"of {tables} only what batches have kept was recorded again")
    return done


def _changed(old: LedgerFile) -> set[str]:
    """Tables whose rows nobody vouches for; all of them where the chain itself was changed."""
    changed = {line.split(":")[0] for line in old.damage} & (WRITTEN.keys() | STATES.keys())
    whole = bool(old.damage) and all(":" in line for line in old.damage)
    return changed if whole else {*WRITTEN, *STATES}


def _take_over(old: LedgerFile, file: LedgerFile) -> None:
    """Rows that came after the last batch, from tables that nobody has changed."""
    changed = _changed(old)
    rows = {}
    for table in WRITTEN.keys() - IN_BATCHES - changed:
        try:
            rows[table] = old.written(table)
        except StoreError:
            continue  # a page that cannot be read
    with old.reading() as connection:
        states = changed_since(connection, Mark())  # since the beginning: all of them
    replay(file, {"rows": rows, "state": {k: v for k, v in states.items() if k not in changed}})


def _policies_again(folder: Path, ledger: Ledger, found: orphans.Orphans) -> list[str]:
    """Rows of policies that no journal tells of, and episodes name."""
    done = []
    named = {row.policy: row.round for row in reversed(ledger.episodes())}
    for path in found.rest:
        name = Path(path).stem
        if not path.startswith(f"{POLICIES}/") or name not in named or ledger.policy(name):
            continue
        ledger.add_policy(PolicyRow(name, sha256_of(folder / path), path, round=named[name]))
        done.append(f"{path} got a row again, as episodes name it")
    return done
