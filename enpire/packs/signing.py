"""Which packs a person has to sign before they may move an arm, and whether somebody did.

A pack that an agent drafted holds `drafted.toml`; its hash is over all its files. Its signature
lies beside the certificate and is no part of the hash. It names the pack's hash and that of the
certificate that was looked at, and is void as soon as either is another. It is no cryptography:
who can write into the folder can write a signature.
"""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path

from enpire.errors import PackError
from enpire.json_text import parsed
from enpire.packs.finder import CERTIFICATE, DRAFTED, SIGNATURE, Pack

PICTURES = "pictures"  # of a drafted pack: of a demonstration, rendered before it was certified
ANSWERED = "ENPIRE_UNSIGNED"  # set to 1: unsigned drafts may run, as in a sandbox they do


@dataclass(frozen=True, slots=True)
class Signature:
    """Who signed a pack, when (ISO 8601, UTC), and the sha256 of what was signed."""

    by: str
    at: str
    pack: str
    certificate: str


def drafted(pack: Pack) -> bool:
    """Whether an agent drafted the pack."""
    return os.path.lexists(pack.folder / DRAFTED)


def certificate_hash(folder: Path) -> str:
    """Sha256 of the certificate's bytes; empty if there is none."""
    path = folder / CERTIFICATE
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""


def signature(pack: Pack) -> Signature | None:
    """The signature that counts for the pack as it is; None if there is none or it is void."""
    try:
        kept = parsed((pack.folder / SIGNATURE).read_text(encoding="utf-8"))
        found = Signature(**kept)
    except (OSError, ValueError, TypeError):
        return None
    if not all(isinstance(v, str) and v for v in asdict(found).values()):
        return None
    whole = (found.pack, found.certificate) == (pack.sha256, certificate_hash(pack.folder))
    return found if whole and not unsealed(pack.folder) else None


def write(pack: Pack, signed: Signature) -> Path:
    """Keep a signature beside the pack's certificate."""
    path, new = pack.folder / SIGNATURE, pack.folder / f".{SIGNATURE}.new"
    new.write_text(json.dumps(asdict(signed), indent=1) + "\n", encoding="utf-8")
    os.replace(new, path)
    return path


def unsealed(folder: Path) -> list[str]:
    """Links, hidden and compiled files in a pack, by relative name: nobody sees what they hold."""
    return sorted(
        path.relative_to(folder).as_posix()
        for path in folder.rglob("*")
        if path.is_symlink() or path.name.startswith(".") or path.name == "__pycache__"
    )


def standing(pack: Pack) -> str:
    """`drafted, signed by NAME`, `drafted, unsigned`, or nothing for a pack a person wrote."""
    if not drafted(pack):
        return ""
    found = signature(pack)
    return f"drafted, signed by {found.by}" if found else "drafted, unsigned"


def require_signed(pack: Pack) -> None:
    """Let a pack through to a station that is an arm.

    Raises:
        PackError: an agent drafted it, and no person has signed it as it is.
    """
    if drafted(pack) and signature(pack) is None:
        raise PackError(
            f"{pack.name} was drafted by an agent and nobody has signed it as it is: "
            f"enpire task sign {pack.name}"
        )


def answered() -> bool:
    """Whether unsigned drafts may run in this process, as its environment says."""
    return os.environ.get(ANSWERED) == "1"


def require_answered(pack: Pack) -> None:
    """Let a pack's code run in this process, with all that the process may do.

    Raises:
        PackError: an agent drafted it, no person has signed it, and the environment does not say
            that unsigned drafts may run here.
    """
    if standing(pack).endswith("unsigned") and not answered():
        raise PackError(
            f"{pack.name} was drafted by an agent and nobody has signed it as it is. Read it, then "
            f"enpire task sign {pack.name}; or set {ANSWERED}=1 to run its code with all your "
            "rights, on a twin"
        )
