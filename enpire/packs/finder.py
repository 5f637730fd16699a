"""Where packs are looked for, and the seal on what was found.

Search order: a path given on the command line, `./<kind>/`, the folders in `ENPIRE_PACKS`, entry
points of the group `enpire.packs`, the built-in ones. The first folder with the name wins, so a
user's own pack shadows a built-in one; its content hash, written into every episode, says which it
was.
"""

from __future__ import annotations

import difflib
import hashlib
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Literal, get_args

from enpire.errors import PackError, UsageError
from enpire.real_path import real_path

Kind = Literal["robots", "tasks", "agents", "sim"]
KINDS: tuple[Kind, ...] = get_args(Kind)
MARKER: dict[Kind, str] = {
    "robots": "robot.toml",
    "tasks": "task.py",
    "agents": "agent.toml",
    "sim": "world.toml",
}
GYM = "gym:"  # begins the name of a task that is a Gymnasium environment, and no pack
AT_START = "@start"  # ends the name of a task that begins at the beginning, not at the hard phase
FROM_START = "from_start.py"  # the module that holds it
AT_JOINTS = "@joints"  # ends the name of a task whose policies set joints, and do not move hands
LOOP = "loop.toml"  # what a task's loop does unless told otherwise: it decides no episode
SYMMETRY = "symmetry.toml"  # of a task: how it may be moved; for those who learn, as above
CERTIFICATE = "certificate.json"  # what was measured of a pack: beside it, and no part of it
SIGNATURE = "signature.json"  # that a person answers for it: beside the certificate
DRAFTED = "drafted.toml"  # in a pack: an agent drafted it
DRIVERS = "drivers.toml"  # of a robot: how its arms are reached, on this or that bus
MENAGERIE = "menagerie.toml"  # of a robot: what its parts are called in MuJoCo Menagerie's model
WORTH = frozenset(map(Path, (CERTIFICATE, SIGNATURE)))  # of a pack's hash
UNSEALED = WORTH | set(map(Path, (LOOP, SYMMETRY, DRIVERS, MENAGERIE)))
TABLES: dict[Kind, tuple[str, ...]] = {  # files of settings that are read, by the kind of pack
    "robots": (MARKER["robots"], DRIVERS, MENAGERIE),
    "tasks": (LOOP, SYMMETRY),
    "agents": (MARKER["agents"],),
    "sim": (MARKER["sim"],),
}
ALIKE = 0.8  # of two names, from which on one is the other one misspelt
SINGULAR: dict[Kind, str] = {"robots": "robot", "tasks": "task", "agents": "agent", "sim": "world"}


@dataclass(frozen=True, slots=True)
class Pack:
    """A folder of one kind, with the sha256 of what is in it."""

    kind: Kind
    name: str
    folder: Path
    sha256: str


def find(kind: Kind, name: str) -> Pack:
    """Return the pack called `name`, or at the path `name`.

    A task's may end in `@start`: the same pack, whose task is that of `from_start.py`. Either may
    end in `@joints` besides: the same task, where policies say where joints are to be.

    Raises:
        UsageError: there is none; the message gives the nearest names.
        PackError: the folder lacks the file that makes it a pack of this kind, or has a file of
            settings under a name that nothing reads.
    """
    if kind == "tasks" and name.startswith(GYM):
        raise UsageError(f"{name} is a Gymnasium environment: `loop` and `eval` take it, no other")
    if kind == "tasks" and sets_joints(name):
        pack = find(kind, name.removesuffix(AT_JOINTS))
        return replace(pack, name=pack.name + AT_JOINTS)
    if kind == "tasks" and name.endswith(AT_START):
        pack = find(kind, name.removesuffix(AT_START))
        if not (pack.folder / FROM_START).is_file():
            raise UsageError(
                f"{pack.name} has one start only, so leave --begin and {AT_START} out; tasks with "
                f"{FROM_START} have two: {', '.join(with_start()) or 'none'}"
            )
        return replace(pack, name=pack.name + AT_START)
    if os.sep in name or name.startswith("."):
        folder = real_path(name)
        if not (folder / MARKER[kind]).is_file():
            raise PackError(f"{folder} is no {SINGULAR[kind]} pack: it has no {MARKER[kind]}")
        return _pack(kind, folder)
    for root in _roots(kind):
        if (root / name / MARKER[kind]).is_file():
            return _pack(kind, real_path(root / name))
    if (Path(name) / MARKER[kind]).is_file():
        here = f".{os.sep}{name}"
        raise UsageError(f"unknown {SINGULAR[kind]} {name!r}; the folder here is called {here}")
    raise UsageError(unknown(SINGULAR[kind], name, available(kind)))


def sets_joints(task: str) -> bool:
    """Whether policies of the task called so say where joints are to be."""
    return task.endswith(AT_JOINTS)


def available(kind: Kind) -> list[str]:
    """Names of all packs of a kind that can be found, sorted."""
    return sorted(
        {
            folder.name
            for root in _roots(kind)
            if root.is_dir()
            for folder in root.iterdir()
            if (folder / MARKER[kind]).is_file()
        }
    )


def with_start() -> list[str]:
    """Names of the tasks that can begin at their beginning, sorted."""
    return [n for n in available("tasks") if (find("tasks", n).folder / FROM_START).is_file()]


def shipped(kind: Kind, name: str) -> Path:
    """The folder `name` of a kind that comes with the harness, be it a pack or not.

    Raises:
        PackError: it is not there: the installation is not whole.
    """
    for root in _built_in(kind):
        if (root / name).is_dir():
            return root / name
    raise PackError(f"{kind}/{name} is missing: install enpire anew")


def file_in(folder: Path, name: str, where: str) -> Path:
    """The file that a pack's TOML file names; raises PackError if it is not in the pack.

    What is elsewhere is in no pack's hash, and is not there on another machine.
    """
    path = Path(os.path.normpath(folder / name))
    if not path.is_relative_to(os.path.normpath(folder)) or not path.is_file():
        raise PackError(f"{where} {name} is not in the pack: a file in its folder is needed")
    return path


def unknown(what: str, name: str, names: list[str]) -> str:
    """One line for an unknown name: what it was, the nearest ones, or all there are."""
    near = difflib.get_close_matches(name, names, n=3, cutoff=0.5)
    if near:
        return f"unknown {what} {name!r}; did you mean {' or '.join(near)}?"
    return f"unknown {what} {name!r}; there are: {', '.join(names) or 'none'}"


def content_hash(folder: Path) -> str:
    """Sha256 over the relative names and bytes of all files that decide what a pack does.

    Hidden and compiled ones are left out, what is written about it (`*.md`), what its loop does
    unless told otherwise, how its scene may be moved, how arms are reached and what others call
    their parts, and certificate and signature, which say what this hash is worth. Of a pack that an
    agent drafted only the last two are: its code might read any of the others.
    """
    drafted = os.path.lexists(folder / DRAFTED)
    files = {path: path.relative_to(folder) for path in folder.rglob("*") if path.is_file()}
    return hash_of(
        folder,
        (
            path
            for path, relative in files.items()
            if relative not in WORTH and (drafted or not _decides_nothing(relative))
        ),
    )


def changed_packs(before: Mapping[str, str], now: Mapping[str, str]) -> list[str]:
    """Return the names of packs that are others now, or gone; before, now: hashes by name."""
    return sorted(name for name, sha256 in before.items() if now.get(name) != sha256)


def hash_of(folder: Path, files: Iterable[Path]) -> str:
    """Sha256 over the bytes of files in a folder, and over their names relative to it."""
    digest = hashlib.sha256()
    for path in sorted(files):
        data = path.read_bytes()
        digest.update(f"{path.relative_to(folder).as_posix()}\0{len(data)}\0".encode())
        digest.update(data)
    return digest.hexdigest()


def _decides_nothing(relative: Path) -> bool:
    hidden = any(part.startswith(".") or part == "__pycache__" for part in relative.parts)
    return hidden or relative in UNSEALED or relative.suffix == ".md"


def _pack(kind: Kind, folder: Path) -> Pack:
    _require_named(kind, folder)
    return Pack(kind, folder.name, folder, content_hash(folder))


def _require_named(kind: Kind, folder: Path) -> None:
    """Raise PackError for settings that nobody would read: misspelt, `.txt` after it, no file."""
    there = {path.name: path for path in folder.iterdir()}
    stems = {name.removesuffix(".toml"): name for name in TABLES[kind]}
    for name, path in there.items():
        if name in TABLES[kind]:
            if not path.is_file():
                raise PackError(f"{path} does not parse: it is a directory, or a link to nothing")
            continue
        plain = name.lower().removesuffix(".txt")
        if not plain.endswith(".toml"):
            continue
        near = difflib.get_close_matches(plain.removesuffix(".toml"), stems, 1, ALIKE)
        if near and stems[near[0]] not in there:
            raise PackError(f"{path}: nothing reads a file of this name; call it {stems[near[0]]}")


def _roots(kind: Kind) -> Iterator[Path]:
    yield Path.cwd() / kind
    for root in filter(None, os.environ.get("ENPIRE_PACKS", "").split(os.pathsep)):
        if not os.path.isdir(root):
            raise UsageError(
                f"the variable ENPIRE_PACKS has {root}, which is no folder: take it out"
            )
        yield Path(root) / kind
    for folder in _installed():
        yield folder / kind
    yield from _built_in(kind)


@cache
def _installed() -> tuple[Path, ...]:
    """Packages with packs in them. Reading what is installed takes 50 ms, so it is done once."""
    entries = metadata.entry_points(group="enpire.packs")
    return tuple(Path(entry.load().__path__[0]) for entry in entries)


def _built_in(kind: Kind) -> Iterator[Path]:
    package = Path(__file__).resolve().parent.parent
    yield package / "builtin_packs" / kind  # in an installed wheel
    yield package.parent / kind  # in a checkout
