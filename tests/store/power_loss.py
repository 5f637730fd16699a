"""A disk that loses power: what a run may look like afterwards.

Calls of the operating system are recorded while a run is written. Of any prefix of them a state of
the disk is made as a file system may leave it (ALICE, Pillai et al. 2014): what was forced to the
disk is there, of the rest each name and each content may be there or not, in any order, and a
content may be torn. A transaction of SQLite's is there once it is committed, by its own promise.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from enpire.store import ledger_file as ledgers
from enpire.store.layout import LEDGER

IGNORED = (LEDGER, "writer.lock")  # SQLite's, and one without content that counts


@dataclass(eq=False)
class Node:
    """A folder or a file: names or bytes as they are on the disk once power is lost."""

    names: dict[str, Node] = field(default_factory=dict)
    data: bytes = b""


@dataclass(frozen=True)
class NameChange:
    """A name that comes to a folder or goes from one; at once if both are given (rename)."""

    comes: tuple[Node, str, Node] | None = None
    goes: tuple[Node, str] | None = None


@dataclass(frozen=True)
class Content:
    """All bytes of a file, as they are after a call."""

    file: Node
    data: bytes


@dataclass(frozen=True)
class Forced:
    """A folder or a file is forced to the disk."""

    node: Node


@dataclass(frozen=True)
class Commit:
    """A transaction is committed; the whole ledger after it."""

    ledger: bytes


class PowerLoss:
    """Records what is done to a run's folder."""

    def __init__(self, folder: Path) -> None:
        """folder: it is on the disk as it is."""
        self.folder = folder
        self.calls: list[NameChange | Content | Forced | Commit] = []
        self._nodes: dict[Path, Node] = {}
        self._handles: dict[int, Node] = {}
        self._now: dict[Node, bytes] = {}
        self._folders: set[Node] = set()
        self.root = self._taken(folder)
        self._ledger = self._serialized()

    def _taken(self, path: Path) -> Node:
        node = self._nodes[path] = Node()
        if path.is_dir():
            self._folders.add(node)
            kept = (p for p in path.iterdir() if not p.name.startswith(IGNORED))
            node.names = {p.name: self._taken(p) for p in kept}
        else:
            node.data = self._now[node] = path.read_bytes()
        return node

    def _serialized(self) -> bytes:
        with closing(sqlite3.connect(self.folder / LEDGER)) as connection:
            return connection.serialize()

    @contextmanager
    def recording(self) -> Iterator[None]:
        """Record all calls in the block."""
        before: list[tuple[Any, str, Any]] = []

        def watch(owner: Any, name: str, told: Callable[..., None]) -> None:
            call = getattr(owner, name)
            before.append((owner, name, call))

            def watched(*given: Any, **named: Any) -> Any:
                found = call(*given, **named)
                told(found, *given)
                return found

            setattr(owner, name, watched)

        for name in ("open", "write", "fsync", "rename", "mkdir", "unlink"):
            watch(os, name, getattr(self, f"_on_{name}"))
        watch(ledgers, "fault_point", self._on_point)
        try:
            yield
        finally:
            for owner, name, call in before:
                setattr(owner, name, call)

    def _known(self, path: Any) -> Path | None:
        found = Path(path)
        inside = found.is_relative_to(self.folder) and not found.name.startswith(IGNORED)
        return found if inside else None

    def _on_open(self, handle: int, path: Any, flags: int, *_: Any) -> None:
        at = self._known(path)
        self._handles.pop(handle, None)  # its number may have been another file's
        if at is None:
            return
        node = self._nodes.get(at)
        if node is None:
            node = self._nodes[at] = Node()
            self._now[node] = b""
            self.calls.append(NameChange((self._nodes[at.parent], at.name, node)))
        elif flags & os.O_TRUNC:
            self._content(node, b"")
        self._handles[handle] = node

    def _on_write(self, count: int, handle: int, data: Any) -> None:
        if handle in self._handles:
            node = self._handles[handle]
            self._content(node, self._now[node] + bytes(data[:count]))

    def _content(self, node: Node, data: bytes) -> None:
        self._now[node] = data
        self.calls.append(Content(node, data))

    def _on_fsync(self, _: None, handle: int) -> None:
        if handle in self._handles:
            self.calls.append(Forced(self._handles[handle]))

    def _on_rename(self, _: None, source: Any, target: Any) -> None:
        at, to = self._known(source), self._known(target)
        if at is None or to is None:
            return
        for path in [p for p in self._nodes if p.is_relative_to(at)]:
            self._nodes[to / path.relative_to(at)] = self._nodes.pop(path)
        new = (self._nodes[to.parent], to.name, self._nodes[to])
        self.calls.append(NameChange(new, goes=(self._nodes[at.parent], at.name)))

    def _on_mkdir(self, _: None, path: Any, *__: Any) -> None:
        at = self._known(path)
        if at is not None:
            node = self._nodes[at] = Node()
            self._folders.add(node)
            self.calls.append(NameChange((self._nodes[at.parent], at.name, node)))

    def _on_unlink(self, _: None, path: Any, *__: Any) -> None:
        at = self._known(path)
        if at is not None and self._nodes.pop(at, None):
            self.calls.append(NameChange(goes=(self._nodes[at.parent], at.name)))

    def _on_point(self, _: None, name: str) -> None:
        if name == "committed":
            self.calls.append(Commit(self._serialized()))

    def leave(self, target: Path, prefix: int, survival: float, rng: np.random.Generator) -> None:
        """Make at `target` what the disk may hold after so many calls.

        survival: the chance of what was not forced to the disk; half of such contents are torn.
        """
        calls, ledger = self.calls[:prefix], self._ledger
        forced = {call.node: at for at, call in enumerate(calls) if isinstance(call, Forced)}
        names: dict[Node, dict[str, Node]] = {}
        data: dict[Node, bytes] = {}

        def survives(at: int, *nodes: Node) -> bool:
            return any(at < forced.get(node, -1) for node in nodes) or rng.random() < survival

        def inside(folder: Node) -> dict[str, Node]:
            return names.setdefault(folder, dict(folder.names))

        for at, call in enumerate(calls):
            if isinstance(call, Commit):
                ledger = call.ledger
            elif isinstance(call, Content) and survives(at, call.file):
                torn = at > forced.get(call.file, -1) and rng.random() < 0.5
                data[call.file] = call.data[: len(call.data) // 2] if torn else call.data
            elif isinstance(call, NameChange):
                changes = [change for change in (call.goes, call.comes) if change]
                if not survives(at, *(change[0] for change in changes)):
                    continue
                for folder, name, *node in changes:
                    inside(folder).pop(name, None)
                    inside(folder).update((name, each) for each in node)

        def write(node: Node, path: Path, folder: bool) -> None:
            if not folder:
                path.write_bytes(data.get(node, node.data))
                return
            path.mkdir()
            for name, below in names.get(node, node.names).items():
                write(below, path / name, below in self._folders)

        write(self.root, target, True)
        (target / LEDGER).write_bytes(ledger)
