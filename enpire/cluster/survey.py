"""Whether the nodes of a cluster are alike enough to work on one run, asked before they do."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from enpire.errors import UsageError
from enpire.packs.finder import Kind

ASKED = 3  # times that a node is asked for the time; the quickest answer counts
CLOCK_S = 1.0  # that clocks may be apart: what two nodes log of one moment stays side by side

Seals = Mapping[tuple[Kind, str], str]  # the sha256 of packs by kind and name


@dataclass(frozen=True, slots=True)
class Node:
    """A node as it answered."""

    name: str  # for a person
    version: str
    python: str  # that tried
    missing: str  # why the package could not be imported, or empty
    packs: dict[tuple[Kind, str], str]  # sha256, or why there is none, by kind and name
    offset: float  # of its clock from ours [s], known to within `within`
    within: float


def questions() -> Callable[[list[tuple[Kind, str]]], dict[str, Any]]:
    """What a node is asked: a function that needs nothing of ours to be carried there."""

    def answer(packs: list[tuple[Kind, str]]) -> dict[str, Any]:
        import importlib
        import sys
        import time

        said: dict[str, Any] = {"python": sys.executable, "missing": "", "version": "", "packs": {}}
        try:
            # The node's own, of whatever version: only its public names are sure to be there.
            said["version"] = importlib.import_module("enpire").__version__
        except ImportError as error:
            said["missing"] = str(error)
            packs = []
        for kind, name in packs:
            try:
                from enpire.packs import find

                said["packs"][kind, name] = find(kind, name).sha256
            except Exception as error:  # of whatever kind another version raises
                said["packs"][kind, name] = str(error)
        return {**said, "clock": time.time()}

    return answer


def ask(name: str, answer: Callable[[], dict[str, Any]]) -> Node:
    """Ask a node: `answer` is what `questions` gives, called there."""
    best, offset, said = float("inf"), 0.0, {}
    for _ in range(ASKED):
        asked = time.time()
        said = answer()
        heard = time.time()
        if heard - asked < best:
            best, offset = heard - asked, said["clock"] - (asked + heard) / 2
    told = (said["version"], said["python"], said["missing"], said["packs"])
    return Node(name, *told, offset, best / 2)


def require_alike(nodes: list[Node], version: str, packs: Seals) -> None:
    """Raise UsageError unless all have this version of ours and these packs, and our time."""
    for node in nodes:
        if node.missing:
            raise UsageError(
                f"node {node.name} cannot import enpire ({node.missing}): install enpire {version} "
                f"for {node.python}, or start the node from a Python that has it"
            )
        require_version(node.name, node.version, version)
        require_packs(node.name, node.packs, packs)
        if abs(node.offset) - node.within > CLOCK_S:
            when = "ahead of" if node.offset > 0 else "behind"
            raise UsageError(
                f"the clock of node {node.name} is {abs(node.offset):.1f} s {when} this one's, "
                f"{CLOCK_S:g} s are allowed: have both set by NTP"
            )


def require_version(node: str, found: str, version: str) -> None:
    """Raise UsageError unless a node has this version of ours."""
    if found != version:
        raise UsageError(
            f"node {node} has enpire {found}, this machine {version}: install the same on both"
        )


def require_packs(node: str, found: Seals, packs: Seals) -> None:
    """Raise UsageError unless a node has these packs, to the bit."""
    for (kind, name), sha256 in packs.items():
        there = found.get((kind, name), "none")
        if there != sha256:
            said = f"sha256 {there[:12]}" if len(there) == len(sha256) else there
            raise UsageError(
                f"node {node} has another {kind}/{name} than this machine ({said} there, "
                f"{sha256[:12]} here): copy the pack's folder there"
            )
