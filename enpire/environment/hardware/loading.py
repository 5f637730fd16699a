"""From a task's name and station files to stations with arms."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from datetime import date
from pathlib import Path

from enpire.environment.cameras.camera import Camera
from enpire.environment.cameras.twin_cameras import calibrated
from enpire.environment.hardware.cell import HardwareCell
from enpire.environment.hardware.policy_cameras import HardwareFrameCapture
from enpire.environment.hardware.stations import HardwareStations
from enpire.environment.hardware.verifier_cameras import HardwareVerifierCameras, Lens, lenses
from enpire.environment.loading import CAMERAS, SENSORS, load_task
from enpire.errors import UsageError
from enpire.packs import find, load_robot, load_world
from enpire.packs.signing import require_signed
from enpire.safety.permit import Permit, permit
from enpire.safety.station import StationFile, load_station


def open_wired(
    task: str,
    files: Sequence[Path],
    confirm_motion: bool,
    dry_run: bool,
    rehearsed: Callable[[StationFile], StationFile],
    verify: str = SENSORS,
    images: int = 0,
) -> HardwareStations:
    """Stations of the task called `task`, one a station file; `close` them.

    rehearsed: has a station's part played by a simulated one, which a dry run then moves. verify:
    by `sensors`, or by `cameras`; where the task cannot be, it is by sensors all the same.
    images: size of the pictures that policies see [px], or 0.

    Raises:
        UsageError: no such task, another robot, neither of the two flags, or cameras that are not
            there.
        PackError: a pack or a station file is wrong, or an agent drafted the task and nobody has
            signed it.
        SafetyError: a station has not passed its check of the day, or its supervisor does not
            start.
        DriverError: a station's wire is not there.
    """
    pack = find("tasks", task)
    require_signed(pack)  # before its code is imported
    loaded = load_task(pack)
    robot, world = find("robots", loaded.robot), find("sim", loaded.world)
    stations = [load_station(path) for path in files]
    permits: list[Permit] = []
    for station in stations:
        if station.robot.sha256 != robot.sha256:
            raise UsageError(
                f"{pack.name} is for robot {robot.name}; {station.path.name} has "
                f"{station.robot.name}"
            )
        permits.append(permit(station, confirm_motion, dry_run, date.today()))
    if len({station.path for station in stations}) < len(stations):
        raise UsageError("a station file is given twice: each station has one of its own")
    looks = verify == CAMERAS and loaded.verifies_views
    for station in stations if looks or images else ():
        if not station.cameras:
            raise UsageError(f"{station.path}: --verify cameras and --images need `cameras` in it")
    if dry_run:
        stations = [rehearsed(station) for station in stations]
        permits = [permit(station, True, False, date.today()) for station in stations]
    with ExitStack() as opened:
        cells: list[HardwareCell] = []
        for station, may in zip(stations, permits, strict=True):
            cells.append(HardwareCell(station, may, 1.0 / loaded.control_hz))
            opened.callback(cells[-1].close)
        made = HardwareStations(
            loaded,
            load_world(world),
            load_robot(robot),
            cells,
            {f"{p.kind}/{p.name}": p.sha256 for p in (pack, robot, world)},
            dry_run,
        )
        wires = [cell.wire for cell in cells]
        if images:
            made.frame_capture = HardwareFrameCapture(
                loaded, made.sensors, wires, _lenses(made), images
            )
        if looks:
            made.verifier_cameras = HardwareVerifierCameras(wires, _lenses(made))
        opened.pop_all()
    return made


def _lenses(stations: HardwareStations) -> list[list[Lens]]:
    """The lenses of each station's cameras."""
    scene = {camera.name: camera for camera in calibrated(stations.twin.model)}
    nowhere: dict[str, Camera] = {}
    return [lenses(c.station, scene if c.wire.simulated else nowhere) for c in stations.cells]
