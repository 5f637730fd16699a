"""Where stations and trainers are: on this machine, or on those of a cluster (`--cluster`)."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Protocol

from enpire.commands.options import Parser
from enpire.errors import UsageError

if TYPE_CHECKING:
    from enpire.cluster.cells import ClusterCells
    from enpire.cluster.connection import Cluster
    from enpire.cluster.trainer import Elsewhere
    from enpire.environment import Order, Workcells
    from enpire.improvement.training import Beside, Trainer
    from enpire.rollout.clock import Clock


class Place(Protocol):
    """Somewhere to run episodes and to train."""

    def stations(self, order: Order, count: int) -> Workcells:
        """As `open_stations`."""
        ...

    def trainer(self) -> AbstractContextManager[Trainer]:
        """What trains there, until the block ends."""
        ...

    def clock(self, now: float = 0.0) -> Clock:
        """Of twins there; now: where a run is continued [s]."""
        ...


class Here:
    """This machine."""

    def stations(self, order: Order, count: int) -> Workcells:
        """See `Place`."""
        from enpire.environment import open_stations

        return open_stations(order, count)

    def trainer(self) -> Beside:
        """See `Place`."""
        from enpire.improvement.training import Beside

        return Beside()

    def clock(self, now: float = 0.0) -> Clock:
        """See `Place`."""
        from enpire.rollout.clock import Free

        return Free(now)


class There:
    """The machines of a cluster."""

    def __init__(self, cluster: Cluster) -> None:
        """Those of `cluster`."""
        self._cluster = cluster
        self._cells: ClusterCells | None = None

    def stations(self, order: Order, count: int) -> Workcells:
        """See `Place`."""
        from enpire.cluster.cells import open_cells

        if order.images:
            raise UsageError("--images is for this machine: no --cluster")
        self._cells = open_cells(self._cluster, order, count)
        return self._cells

    def trainer(self) -> Elsewhere:
        """See `Place`."""
        from enpire.cluster.trainer import Elsewhere

        return Elsewhere(self._cluster)

    def clock(self, now: float = 0.0) -> Clock:
        """See `Place`: that of the stations, which were opened before."""
        if self._cells is None:
            raise RuntimeError("no stations are open: they have the clock")
        self._cells.clock.goes_on_from(now)
        return self._cells.clock


def add_cluster(parser: Parser) -> None:
    """The option that says where."""
    parser.add_argument(
        "--cluster",
        metavar="ADDRESS",
        default="",
        help="run stations and training on a Ray cluster: auto, HOST:PORT or ray://HOST:PORT",
    )


@contextmanager
def place(options: Namespace) -> Iterator[Place]:
    """Where, as the options say; what was started there ends with the block.

    Raises:
        UsageError: there is no such cluster, or no Ray.
    """
    if not options.cluster:
        yield Here()
        return
    from enpire.cluster.connection import Cluster

    with Cluster(options.cluster) as cluster:
        yield There(cluster)
