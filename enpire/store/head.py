"""The head of a run's record: one hash over what was asked for and all that was ever recorded.

Rows are chained, each table's in the order of adding: the hash so far, and the row, give the next.
Who notes a head can tell later whether anything that was recorded until then is still as it was,
also where somebody has changed all of a folder consistently. A head says how many rows of each
table it covers, so it can be checked when there are more.
"""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass

from enpire.errors import StoreError
from enpire.store.chain import WRITTEN
from enpire.store.layout import CONFIG
from enpire.store.run import Run

TEXT = re.compile(r"(\d+(?:\.\d+)*)-([0-9a-f]{64})")


@dataclass(frozen=True, slots=True)
class Head:
    """rows: covered, of each table in the order of `WRITTEN`. sha256: over them."""

    rows: tuple[int, ...]
    sha256: str

    def __str__(self) -> str:
        return f"{'.'.join(map(str, self.rows))}-{self.sha256}"


def parse(text: str) -> Head:
    """A head as a person has noted it.

    Raises:
        StoreError: it is none.
    """
    match = TEXT.fullmatch(text.strip())
    rows = tuple(map(int, match[1].split("."))) if match else ()
    if match is None or len(rows) != len(WRITTEN):
        raise StoreError(f"{text[:100]!r} is no head: give the one of a report, whole")
    return Head(rows, match[2])


def head(run: Run, rows: tuple[int, ...] | None = None) -> Head:
    """The head of a run as it is; or when its ledger had so many rows of each table.

    Raises:
        StoreError: it has fewer.
    """
    total, counts = hashlib.sha256((run.folder / CONFIG).read_bytes()), []
    for table, most in zip(WRITTEN, rows or (None,) * len(WRITTEN), strict=True):
        known = run.ledger.file.written(table)
        if most is not None and len(known) < most:
            raise StoreError(f"{table} has {len(known)} rows, there were {most}")
        covered = known[:most]
        counts.append(len(covered))
        chain = hashlib.sha256(table.encode())
        for row in covered:
            text = json.dumps(row, ensure_ascii=True).encode()
            chain = hashlib.sha256(chain.digest() + text)
        total.update(chain.digest())
    return Head(tuple(counts), total.hexdigest())
