"""Whether a task's certificate still counts: it names the packs that it was measured for.

What packs do hangs on the physics and on enpire, too. So other versions of these are told, and
other code of enpire's environment.

`enpire/certification/certificate.py` writes and reads what was measured. This module needs none of
that, so that a list of tasks is quick.
"""

from __future__ import annotations

from functools import cache
from importlib.metadata import version
from pathlib import Path

from enpire.errors import EnpireError, PackError
from enpire.json_text import parsed
from enpire.packs.finder import CERTIFICATE, find, hash_of
from enpire.version import __version__

CODE = "environment"  # among the versions of a certificate, the hash of what resets and verifies
FOLDERS = ("environment", "twin")  # of the package, that hold it
# In them, through what no reset and no verdict of a pack passes.
BESIDE = ("environment/gym_bridge/", "environment/core/policy_watch.py")


def certificate_state(folder: Path) -> str:
    """One phrase for a person on the certificate of the task in `folder`."""
    try:
        said = _read(folder)
    except PackError as error:
        return str(error)
    if said is None:
        return "not certified"
    changed = [name for name, sha256 in said["packs"].items() if _now(name, folder) != sha256]
    if changed:
        return f"certificate is old: {', '.join(changed)} changed since"
    here = {"enpire": __version__, "mujoco": version("mujoco")}
    measured = said["versions"]
    other = [f"{name} {then}" for name in here if (then := measured.get(name)) != here[name]]
    if CODE in measured and measured[CODE] != environment_code():
        other.append("other code that resets and verifies (enpire task check --full)")
    return f"certified, but with {' and '.join(other)}" if other else "certified"


@cache
def environment_code() -> str:
    """Return a sha256 of enpire's code that resets, moves and verifies, as it is on the disk."""
    package = Path(__file__).parents[1]
    files = (path for folder in FOLDERS for path in (package / folder).rglob("*.py"))
    counted = (p for p in files if not p.relative_to(package).as_posix().startswith(BESIDE))
    return hash_of(package, counted)


def _read(folder: Path) -> dict[str, dict[str, str]] | None:
    """Return what the certificate in a task's folder says; None where there is none.

    Raises:
        PackError: it cannot be read.
    """
    path = folder / CERTIFICATE
    try:
        said = parsed(path.read_text(encoding="utf-8"))
        return {part: dict(said[part]) for part in ("packs", "versions")}
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise PackError(f"{path} is no certificate ({error}): delete it") from error


def _now(name: str, folder: Path) -> str:
    """The hash of the pack `kind/name` as it is now; empty where there is none.

    The task is the one in `folder`, whatever else has its name.
    """
    try:
        if name.startswith("robots/"):
            return find("robots", name.removeprefix("robots/")).sha256
        if name.startswith("sim/"):
            return find("sim", name.removeprefix("sim/")).sha256
        return find("tasks", str(folder)).sha256
    except EnpireError:
        return ""
