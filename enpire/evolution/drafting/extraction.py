"""Takes a draft out of an agent's workspace: plain files as bytes, and nothing else that is there.

No link is followed, nothing is waited for and nothing is run. What certifies a pack, what says who
drafted it and what signs it is the harness's and a person's to write; what other programs would run
of themselves (`conftest.py`) or Python instead of a source (`.pyc`, `.so`, `.pth`) has no place in
a pack.
"""

from __future__ import annotations

import errno
import hashlib
import os
import re
import stat
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from enpire.errors import EnpireError
from enpire.packs.finder import CERTIFICATE, DRAFTED, SIGNATURE
from enpire.packs.signing import PICTURES
from enpire.sandbox.limits import MIB
from enpire.sandbox.sanitize import one_line

SUFFIXES = (
    *(".py", ".xml", ".toml", ".md", ".txt", ".csv", ".json"),
    *(".stl", ".obj", ".msh", ".png", ".jpg", ".jpeg"),
)
NOT_ITS_OWN = frozenset((CERTIFICATE, SIGNATURE, DRAFTED, PICTURES))  # at the top
NOWHERE = frozenset(("conftest.py", "sitecustomize.py", "usercustomize.py", "__pycache__"))
NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}")
TESTS = re.compile(r"test_.*\.py|.*_test\.py")  # pytest imports them wherever they are
MOST_FILES, MOST_ENTRIES, DEPTH = 200, 1000, 4
MOST_BYTES, MOST_OF_ONE = 32 * MIB, 8 * MIB


class DraftError(EnpireError):
    """A draft is no pack that could be taken."""


@dataclass(slots=True)
class ExtractedFiles:
    """files: by their path in the pack. left: what was left behind, and why."""

    files: dict[str, bytes] = field(default_factory=dict)
    left: list[str] = field(default_factory=list)
    entries: int = 0

    @property
    def size(self) -> int:
        """The size of all files [B]."""
        return sum(map(len, self.files.values()))


def extract(workspace: Path, name: str) -> ExtractedFiles:
    """The pack in the folder `name` of a workspace, whoever writes there meanwhile.

    Raises:
        DraftError: there is no such folder, it has no task.py, or is too large.
    """
    found = ExtractedFiles()
    try:
        at = os.open(workspace, os.O_RDONLY | os.O_DIRECTORY)
        try:
            inner = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=at)
        finally:
            os.close(at)
    except OSError as error:
        raise DraftError(f"the folder {name} is not in the workspace: {error.strerror}") from error
    try:
        _take(inner, "", found)
    finally:
        os.close(inner)
    if "task.py" not in found.files:
        raise DraftError(f"{name} has no task.py that could be taken")
    return found


def digest(files: Mapping[str, bytes]) -> str:
    """Sha256 over names and bytes."""
    whole = hashlib.sha256()
    for name in sorted(files):
        whole.update(f"{name}\0{len(files[name])}\0".encode() + files[name])
    return whole.hexdigest()


def write(files: Mapping[str, bytes], folder: Path) -> None:
    """Make `folder`, which must not be there, with these files."""
    folder.mkdir(parents=True)
    for name, data in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


def _take(folder: int, above: str, files: ExtractedFiles) -> None:
    """What is in an open folder, at `above` in the pack."""
    with os.scandir(folder) as entries:
        names = []
        for entry in entries:
            names.append(entry.name)
            if files.entries + len(names) > MOST_ENTRIES:
                raise DraftError(f"more than {MOST_ENTRIES} files and folders: no pack needs them")
    files.entries += len(names)
    for name in sorted(names):
        path = above + name
        why = _unfit(name, above)
        if not why:
            try:
                why = _take_one(folder, name, path, files)
            except OSError as error:
                why = "a link" if error.errno == errno.ELOOP else str(error.strerror)
        if why:
            files.left.append(f"{one_line(path, 100)}: {why}")


def _take_one(folder: int, name: str, path: str, files: ExtractedFiles) -> str:
    """Why a file or folder is left behind; nothing if it is taken."""
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK
    opened = os.open(name, flags, dir_fd=folder)
    try:
        mode = os.fstat(opened).st_mode
        if stat.S_ISDIR(mode):
            if path.count("/") >= DEPTH:
                return f"folders are {DEPTH} deep at most"
            _take(opened, path + "/", files)
            return ""
        if not stat.S_ISREG(mode):
            return "no plain file"
        if Path(name).suffix.lower() not in SUFFIXES:
            return f"files of a pack end in {' '.join(SUFFIXES)}"
        with os.fdopen(os.dup(opened), "rb") as file:
            data = file.read(MOST_OF_ONE + 1)
    finally:
        os.close(opened)
    if len(data) > MOST_OF_ONE:
        return f"more than {MOST_OF_ONE // MIB} MiB"
    files.files[path] = data
    if len(files.files) > MOST_FILES or files.size > MOST_BYTES:
        raise DraftError(f"more than {MOST_FILES} files or {MOST_BYTES // MIB} MiB")
    return ""


def _unfit(name: str, above: str) -> str:
    """Why nothing of this name is taken; nothing if it may be."""
    if name in NOWHERE or TESTS.fullmatch(name):
        return "not part of a pack"
    if not above and name in NOT_ITS_OWN:
        return "the harness writes it"
    if not NAME.fullmatch(name):
        return "hidden, or an odd name: letters, digits, _ - . only"
    return ""
