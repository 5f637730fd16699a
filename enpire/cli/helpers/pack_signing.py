"""`enpire task sign NAME`: a person answers for a pack as it is."""

from __future__ import annotations

import getpass
import sys
from argparse import Namespace
from datetime import UTC, datetime
from typing import Any

from enpire.errors import PackError, UsageError
from enpire.json_text import parsed
from enpire.packs.finder import AT_JOINTS, AT_START, CERTIFICATE, Pack, find
from enpire.packs.signing import (
    PICTURES,
    Signature,
    certificate_hash,
    drafted,
    unsealed,
    write,
)


def sign(options: Namespace, task: str) -> int:
    """Show what is signed, ask for it, keep the signature.

    Raises:
        UsageError: nobody is at the terminal, or what was typed or given is not what is signed.
        PackError: it has no certificate of its own as it is, or one that misses a bar.
    """
    for end in (AT_JOINTS, AT_START):
        if task.endswith(end):
            raise UsageError(f"a signature is for the whole pack: leave {end} out")
    if (options.by is None) != (options.hash is None):
        raise UsageError("--by and --hash go together: who signs, and the exact hash")
    pack = find("tasks", task)
    seen = certificate_hash(pack.folder)
    rows = certified(pack)
    print(f"{pack.name}  {pack.sha256}\n{pack.folder}")
    for row in rows:
        mark = "-" if row["passed"] is None else "pass"
        print(f"{mark:<4}  {row['check']}: {row['k']} of {row['n']} {row['counted']}")
    if drafted(pack):
        print(f"an agent wrote it: read it, and look at {pack.folder / PICTURES}")
    else:
        print(f"a picture: enpire render {pack.folder} {pack.name}.png")
    if options.by is None:
        if not sys.stdin.isatty():
            raise UsageError("nobody is at a terminal: sign with --by NAME --hash SHA256")
        if input("Type the pack's name to sign it: ").strip() != pack.name:
            raise UsageError("not signed: that is not its name")
        by = getpass.getuser()
    else:
        if options.hash != pack.sha256:
            raise UsageError(f"not signed: the hash of {pack.name} is {pack.sha256}")
        by = options.by.strip()
    if not by:
        raise UsageError("not signed: --by is empty")
    at = datetime.now(UTC).isoformat(timespec="seconds")
    # The hashes of what was shown: what changed while a person was reading makes it void.
    print(f"signed by {by}: {write(pack, Signature(by, at, pack.sha256, seen))}")
    return 0


def certified(pack: Pack) -> list[dict[str, Any]]:
    """Rows of the certificate that counts for the pack as it is.

    Raises:
        PackError: there is none, it is for other bytes, it misses a bar, or the hash does not
            tell all that is in the pack.
    """
    again = f"enpire task check {pack.folder} --full"
    if extra := unsealed(pack.folder):
        raise PackError(
            f"{pack.name} holds links, hidden or compiled files: delete {', '.join(extra)}"
        )
    try:
        kept = parsed((pack.folder / CERTIFICATE).read_text(encoding="utf-8"))
        rows: list[dict[str, Any]] = kept["checks"]
        of = kept["packs"][f"tasks/{pack.name}"]
        missed = [row["check"] for row in rows if row["passed"] is False]
    except OSError:
        raise PackError(f"{pack.name} has no certificate: {again}") from None
    except (ValueError, KeyError, TypeError):
        raise PackError(f"{pack.folder / CERTIFICATE} is no certificate: {again}") from None
    if of != pack.sha256 or not rows:
        raise PackError(f"the certificate of {pack.name} is not for what it is now: {again}")
    if missed:
        raise PackError(f"{pack.name} misses a bar: {', '.join(missed)}")
    return rows
