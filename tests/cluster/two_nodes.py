"""A Ray cluster of two nodes on this machine, for tests."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

TRIES = 3  # Ray gives its own processes 15 s to start, which a busy machine may need for others
# A node that is gone is seen soon, for it answers nothing at all; a slow one has time to answer.
QUICK = {
    "health_check_initial_delay_ms": 1000,
    "health_check_period_ms": 500,
    "health_check_timeout_ms": 20_000,
    "health_check_failure_threshold": 4,
}


class TwoNodes:
    """A head with two stations, and a worker with one."""

    def __init__(self) -> None:
        """Start both."""
        from ray.cluster_utils import Cluster

        os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
        self._cluster = Cluster(shutdown_at_exit=True)
        self._pids: set[int] = set()
        self.head = self.add(2, include_dashboard=False, no_monitor=True, _system_config=QUICK)
        self.worker = self.add(1)

    @property
    def address(self) -> str:
        """HOST:PORT, for `--cluster`."""
        return str(self._cluster.address)

    def add(self, stations: int, **how: Any) -> Any:
        """Another node."""
        for left in reversed(range(TRIES)):
            try:
                node = self._cluster.add_node(
                    num_cpus=1,
                    resources={"station": stations},
                    include_log_monitor=False,
                    **how,
                )
                break
            except Exception:  # Ray raises no other
                if not left:
                    raise
        self._pids |= set(family(node))
        return node

    def kill(self, node: Any) -> None:
        """As when a machine loses its power: all of its processes at once."""
        for pid in family(node):
            os.kill(pid, signal.SIGKILL)
        self._cluster.remove_node(node, allow_graceful=False)

    def close(self) -> None:
        """End all that is left of it."""
        self._pids |= {pid for node in self._cluster.list_all_nodes() for pid in family(node)}
        self._cluster.shutdown()
        left = [pid for pid in self._pids if _alive(pid)]
        for pid in left:
            os.kill(pid, signal.SIGKILL)


def family(node: Any) -> list[int]:
    """The process that is a node, and all that it has started."""
    raylet = node.all_processes["raylet"][0].process.pid
    said = subprocess.run(["ps", "-o", "pid=", "--ppid", str(raylet)], capture_output=True)
    return [raylet, *(int(pid) for pid in said.stdout.split())]


@contextmanager
def two_nodes() -> Iterator[TwoNodes]:
    """The cluster, which ends with the block."""
    cluster = TwoNodes()
    try:
        yield cluster
    finally:
        cluster.close()


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True
