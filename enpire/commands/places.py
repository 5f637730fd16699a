"""Where stations and trainers are: on this machine, its twins or arms, or on a cluster."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from enpire.commands.options import Parser
from enpire.errors import UsageError

if TYPE_CHECKING:
    from enpire.cluster.cells import ClusterCells
    from enpire.cluster.connection import Cluster
    from enpire.cluster.trainer import RayTrainer
    from enpire.environment import Order, StationBackend
    from enpire.improvement.training import SubprocessTrainer, Trainer
    from enpire.rollout.clock import Clock


MOTION = {"--confirm-motion": "confirm_motion", "--dry-run": "dry_run"}


class Backend(Protocol):
    """Somewhere to run episodes and to train."""

    def stations(self, order: Order, count: int) -> StationBackend:
        """As `open_stations`."""
        ...

    def trainer(self) -> AbstractContextManager[Trainer]:
        """What trains there, until the block ends."""
        ...

    def clock(self, now: float = 0.0) -> Clock:
        """Of twins there; now: where a run is continued [s]."""
        ...


class LocalBackend:
    """This machine."""

    def stations(self, order: Order, count: int) -> StationBackend:
        """See `Backend`."""
        from enpire.environment import open_stations

        return open_stations(order, count)

    def trainer(self) -> SubprocessTrainer:
        """See `Backend`."""
        from enpire.improvement.training import SubprocessTrainer

        return SubprocessTrainer()

    def clock(self, now: float = 0.0) -> Clock:
        """See `Backend`."""
        from enpire.rollout.clock import Free

        return Free(now)


class HardwareBackend:
    """Stations with arms at this machine; training here."""

    def __init__(self, files: list[Path], confirm_motion: bool, dry_run: bool) -> None:
        """Those of these station files."""
        self._files, self._confirm_motion, self._dry_run = files, confirm_motion, dry_run
        self._open = ExitStack()

    def stations(self, order: Order, count: int) -> StationBackend:
        """See `Backend`; raises UsageError if there are not as many station files."""
        from enpire.environment.loading import CAMERAS
        from enpire.environment.wired import open_wired
        from enpire.simulation.rehearsal import SENT, rehearsal

        if count != len(self._files):
            raise UsageError(
                f"--robots {count} and {len(self._files)} station files: give --station once each"
            )
        if order.vary_looks or order.world:
            raise UsageError("--vary-looks and --world are for twins: no --station")
        seen = bool(order.images) or order.verify == CAMERAS
        made = open_wired(
            order.task,
            self._files,
            self._confirm_motion,
            self._dry_run,
            lambda station: self._open.enter_context(rehearsal(station, order.task, seen)),
            order.verify,
            order.images,
        )
        self._open.callback(made.close)
        if self._dry_run:
            sent = ", ".join(str(file.with_suffix(SENT)) for file in self._files)
            print(f"dry run on twins: no arm is connected to; it would be sent what is in {sent}")
        return made

    def trainer(self) -> SubprocessTrainer:
        """See `Backend`."""
        return LocalBackend().trainer()

    def clock(self, now: float = 0.0) -> Clock:
        """The one on the wall."""
        from enpire.rollout.clock import Wall

        return Wall(now)

    def close(self) -> None:
        """Arms brake and hold; supervisors end."""
        self._open.close()


class RayBackend:
    """The machines of a cluster."""

    def __init__(self, cluster: Cluster) -> None:
        """Those of `cluster`."""
        self._cluster = cluster
        self._cells: ClusterCells | None = None

    def stations(self, order: Order, count: int) -> StationBackend:
        """See `Backend`."""
        from enpire.cluster.cells import open_cells

        if order.images or order.vary_looks:
            raise UsageError("--images is for this machine: no --cluster")
        if order.demonstrator:
            raise UsageError("--demonstrator is for this machine: no --cluster")
        self._cells = open_cells(self._cluster, order, count)
        return self._cells

    def trainer(self) -> RayTrainer:
        """See `Backend`."""
        from enpire.cluster.trainer import RayTrainer

        return RayTrainer(self._cluster)

    def clock(self, now: float = 0.0) -> Clock:
        """See `Backend`: that of the stations, which were opened before."""
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


def add_arms(parser: Parser) -> None:
    """The options that say on which arms."""
    group = parser.add_argument_group("stations with arms (docs/station.md)")
    group.add_argument(
        "--station",
        metavar="FILE",
        type=Path,
        action="append",
        default=[],
        help="run on a station with an arm, that has passed its check today; once for each",
    )
    group.add_argument("--confirm-motion", action="store_true", help="the arms may move")
    group.add_argument(
        "--dry-run",
        action="store_true",
        help="twins in their place, under the same limits; what arms would be sent is written to "
        "FILE's .sent.csv",
    )


def of_arms(options: Namespace, given: dict[str, Any]) -> dict[str, Any]:
    """Settings with what stations with arms imply; raises UsageError for what contradicts it."""
    if not options.station:
        return given
    if given.get("reset", "physical") != "physical" or given.get("pace", "free") != "free":
        raise UsageError("--station is for arms: their resets are physical, their time is real")
    return {"robots": len(options.station)} | given | {"reset": "physical"}


def again(options: Namespace) -> list[str]:
    """The options by which a run goes on where it was."""
    if options.cluster:
        return ["--cluster", options.cluster]
    words = [word for file in options.station for word in ("--station", str(file.resolve()))]
    return words + [flag for flag, given in MOTION.items() if getattr(options, given)]


@contextmanager
def place(options: Namespace) -> Iterator[Backend]:
    """Where, as the options say; what was started there ends with the block.

    Raises:
        UsageError: there is no such cluster, or no Ray.
    """
    if options.station:
        if options.cluster:
            raise UsageError("--station is for arms at this machine: no --cluster")
        arms = HardwareBackend(options.station, options.confirm_motion, options.dry_run)
        try:
            yield arms
        finally:
            arms.close()
        return
    if options.confirm_motion or options.dry_run:
        raise UsageError("--confirm-motion and --dry-run are for arms: --station FILE")
    if not options.cluster:
        yield LocalBackend()
        return
    from enpire.cluster.connection import Cluster

    with Cluster(options.cluster) as cluster:
        yield RayBackend(cluster)
