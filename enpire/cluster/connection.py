"""A connection to a Ray cluster, and the nodes that have stations there."""

from __future__ import annotations

import importlib
import logging
import socket
from collections.abc import Callable, Iterable
from functools import partial
from types import ModuleType
from typing import Any

from enpire.closing import Closing
from enpire.cluster.survey import Seals, ask, questions, require_alike
from enpire.errors import UsageError
from enpire.version import __version__

STATION, GPU = "station", "GPU"  # resources of a node
TUNNEL = "ray://"  # begins the address of a cluster that this machine is not part of
REACH_S = 10.0  # until a cluster counts as unreachable
ANSWER_S = 120.0  # that a node may take to start a process and answer


class Cluster(Closing):
    """Holds the connection, and ends with it what was started over it; a `with` block.

    ray: the module, which is imported only where a cluster is asked for.
    """

    def __init__(self, address: str) -> None:
        """Connect to the cluster at `auto`, `HOST:PORT` or `ray://HOST:PORT`.

        Raises:
            UsageError: Ray is not installed, or there is no cluster; the message names the address.
        """
        self.address = address
        self.ray = installed()
        _require_reachable(address)
        try:
            self.ray.init(
                address=address,
                log_to_driver=False,
                logging_level=logging.ERROR,
                configure_logging=False,
            )
        except (OSError, RuntimeError, ValueError, self.ray.exceptions.RayError) as error:
            said = str(error).strip().splitlines()[0] if str(error).strip() else ""
            raise UsageError(
                f"no Ray cluster at {address} ({said or type(error).__name__}): start one as "
                "launch/ray/README.md says, or give another address to --cluster"
            ) from error

    def close(self) -> None:
        """Disconnect, which ends all that was started over this connection."""
        self.ray.shutdown()

    def room(self, resource: str) -> dict[str, float]:
        """How much of a resource each node that is alive has, free or taken, by its id."""
        return {
            node["NodeID"]: float(node["Resources"][resource])
            for node in self.ray.nodes()
            if node["Alive"] and node["Resources"].get(resource)
        }

    def name_of(self, node_id: str) -> str:
        """A node for a person: its machine's name, its address, and what tells it from others."""
        for node in self.ray.nodes():
            if node["NodeID"] == node_id:
                return f"{node['NodeManagerHostname']} ({node['NodeName']}, {node_id[:6]})"
        return node_id[:6]

    def is_alive(self, node_id: str) -> bool:
        """Whether the cluster still counts a node among its own."""
        return any(node["NodeID"] == node_id and node["Alive"] for node in self.ray.nodes())

    def require_alike(self, nodes: Iterable[str], packs: Seals) -> None:
        """Ask these nodes, of which there is one at least.

        Raises:
            UsageError: one has not our version, packs and time, or does not answer.
        """
        asked = {node: self._question(node, packs) for node in nodes}
        starting = [question() for question in asked.values()]  # processes, all at the same time
        self.ray.wait(starting, num_returns=len(starting), timeout=ANSWER_S)
        for node, question in asked.items():
            try:
                said = ask(self.name_of(node), partial(self._answer, node, question))
            except UsageError:
                if self.is_alive(node):
                    raise
            else:  # or else it has gone since
                require_alike([said], __version__, packs)

    def require_room(self, stations: int) -> None:
        """Raise UsageError unless the cluster has so many stations."""
        room = {self.name_of(node): count for node, count in self.room(STATION).items()}
        if sum(room.values()) < stations:
            has = ", ".join(f"{count:g} on {name}" for name, count in room.items()) or "none"
            raise UsageError(
                f"{stations} stations are asked for, and the cluster at {self.address} has {has}: "
                "give --robots fewer, or start nodes with more "
                f"(ray start --resources '{{\"{STATION}\": N}}')"
            )

    def _question(self, node_id: str, packs: Seals) -> Callable[[], Any]:
        """What asks a node, and returns the reference of its answer."""
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        there = NodeAffinitySchedulingStrategy(node_id, soft=False)
        task = self.ray.remote(questions()).options(num_cpus=0, scheduling_strategy=there)
        return partial(task.remote, list(packs))

    def _answer(self, node_id: str, question: Callable[[], Any]) -> dict[str, Any]:
        try:
            said: dict[str, Any] = self.ray.get(question(), timeout=ANSWER_S)
        except self.ray.exceptions.RayError as error:
            name = self.name_of(node_id)
            raise UsageError(f"node {name} does not answer: {first_line(error)}") from error
        return said


def installed() -> ModuleType:
    """Ray; raises UsageError where it is not installed."""
    try:
        return importlib.import_module("ray")
    except ImportError as error:
        raise UsageError("--cluster needs Ray: pip install enpire[ray]") from error


def first_line(error: BaseException) -> str:
    """The first line of what an error says: Ray's go on with advice, a task's is at the end."""
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return lines[-1] if hasattr(error, "traceback_str") else lines[0]


def _require_reachable(address: str) -> None:
    """Raise UsageError where nobody listens; Ray itself would try for a minute."""
    host, colon, port = address.removeprefix(TUNNEL).rpartition(":")
    if address == "auto":
        return
    if not colon or not (port.isascii() and port.isdigit()):
        raise UsageError(
            f"--cluster {address!r} is no address: give auto, HOST:PORT or {TUNNEL}HOST:PORT"
        )
    try:
        socket.create_connection((host.strip("[]"), int(port)), REACH_S).close()
    except OSError as error:
        raise UsageError(
            f"no Ray cluster at {address} ({error.strerror or error}): start one as "
            "launch/ray/README.md says, or give another address to --cluster"
        ) from error
