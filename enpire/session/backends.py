"""Where stations and trainers are: on this machine, its twins or arms, or on a cluster."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from enpire.errors import UsageError
from enpire.session.audience import Say

if TYPE_CHECKING:
    from enpire.cluster.connection import Cluster
    from enpire.cluster.ray_stations import RayStations
    from enpire.cluster.trainer import RayTrainer
    from enpire.environment import Order, StationBackend
    from enpire.improvement.training_process import SubprocessTrainer, Trainer
    from enpire.rollout.fleet.clock import Clock


class Backend(Protocol):
    """Somewhere to run episodes and to train."""

    def stations(self, order: Order, count: int) -> StationBackend:
        """Return stations as `open_stations` does."""

    def trainer(self) -> AbstractContextManager[Trainer]:
        """What trains there, until the block ends."""

    def clock(self, now: float = 0.0) -> Clock:
        """The clock of twins there; now: where a run is continued [s]."""


class LocalBackend:
    """This machine."""

    def stations(self, order: Order, count: int) -> StationBackend:
        """See `Backend`."""
        from enpire.environment import open_stations

        return open_stations(order, count)

    def trainer(self) -> SubprocessTrainer:
        """See `Backend`."""
        from enpire.improvement.training_process import SubprocessTrainer

        return SubprocessTrainer()

    def clock(self, now: float = 0.0) -> Clock:
        """See `Backend`."""
        from enpire.rollout.fleet.clock import SimulatedClock

        return SimulatedClock(now)


class HardwareBackend:
    """Stations with arms at this machine; training here."""

    def __init__(
        self, files: list[Path], confirm_motion: bool, dry_run: bool, say: Say = print
    ) -> None:
        """Those of these station files; say: takes what a person should know."""
        self._say = say
        self._files, self._confirm_motion, self._dry_run = files, confirm_motion, dry_run
        self._open = ExitStack()

    def stations(self, order: Order, count: int) -> StationBackend:
        """See `Backend`; raises UsageError if there are not as many station files."""
        from enpire.environment.hardware import open_wired
        from enpire.environment.loading import CAMERAS
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
            self._say(
                f"dry run on twins: no arm is connected to; it would be sent what is in {sent}"
            )
        return made

    def trainer(self) -> SubprocessTrainer:
        """See `Backend`."""
        return LocalBackend().trainer()

    def clock(self, now: float = 0.0) -> Clock:
        """The one on the wall."""
        from enpire.rollout.fleet.clock import WallClock

        return WallClock(now)

    def close(self) -> None:
        """Arms brake and hold; supervisors end."""
        self._open.close()


class RayBackend:
    """The machines of a cluster."""

    def __init__(self, cluster: Cluster) -> None:
        """Those of `cluster`."""
        self._cluster = cluster
        self._stations: RayStations | None = None

    def stations(self, order: Order, count: int) -> StationBackend:
        """See `Backend`."""
        from enpire.cluster.ray_stations import open_ray_stations

        if order.images or order.vary_looks:
            raise UsageError("--images is for this machine: no --cluster")
        if order.demonstrator:
            raise UsageError("--demonstrator is for this machine: no --cluster")
        self._stations = open_ray_stations(self._cluster, order, count)
        return self._stations

    def trainer(self) -> RayTrainer:
        """See `Backend`."""
        from enpire.cluster.trainer import RayTrainer

        return RayTrainer(self._cluster)

    def clock(self, now: float = 0.0) -> Clock:
        """See `Backend`: that of the stations, which were opened before."""
        if self._stations is None:
            raise RuntimeError("no stations are open: they have the clock")
        self._stations.clock.goes_on_from(now)
        return self._stations.clock


@contextmanager
def open_backend(
    cluster: str = "",
    arms: Sequence[Path] = (),
    confirm_motion: bool = False,
    dry_run: bool = False,
    say: Say = print,
) -> Iterator[Backend]:
    """Open the place where episodes are run; what was started there ends with the block.

    Args:
        cluster: Address of a Ray cluster; empty for this machine.
        arms: Station files of the arms to run on; none for twins.
        confirm_motion: Whether the arms may move.
        dry_run: Whether twins take the arms' part.
        say: Takes what a person should know.

    Raises:
        UsageError: The arguments contradict each other, or there is no such cluster, or no Ray.
    """
    if arms:
        if cluster:
            raise UsageError("--station is for arms at this machine: no --cluster")
        with closing(HardwareBackend(list(arms), confirm_motion, dry_run, say)) as hardware:
            yield hardware
        return
    if confirm_motion or dry_run:
        raise UsageError("--confirm-motion and --dry-run are for arms: --station FILE")
    if not cluster:
        yield LocalBackend()
        return
    from enpire.cluster.connection import Cluster

    with Cluster(cluster) as connected:
        yield RayBackend(connected)
