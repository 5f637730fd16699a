"""The file of a station, `lab.toml`: which arms, over which driver, and how much less they may do.

driver = "simulated"
robot = "yam"
rate = 100.0                          # of setpoints [Hz]; the default
wire = "ros2"                         # of tracker, fixture and cameras; default: the driver's own
park = [0.0, 1.6, 1.3, -1.2, 0, 0]    # joints of each arm [rad]; default: the robot's home
cameras = ["top"]                     # watched while a policy moves the arms
[limits]                              # see enpire/safety/limits.py: narrower than the robot's
cartesian_speed = 0.1
[watchdogs]                           # seconds: heartbeat, driver, camera, verifier
verifier = 5.0                        # watched if it is named
[realtime]
cpu = 1
priority = 50
[ros2]                                # the driver's own, over the robot's drivers.toml
namespace = "/left"
[[keep_out]]
name = "wall"
low = [0.6, -1.0, 0.0]
high = [0.7, 1.0, 1.0]
"""

from __future__ import annotations

import difflib
import hashlib
import logging
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from enpire.calibration import CameraCalibration, read_cameras
from enpire.calibration.camera import WORLD
from enpire.drivers import DRIVERS, WIRES, Site, require_settings, runtime_folder, settings
from enpire.errors import PackError
from enpire.packs import Robot, find, load_robot
from enpire.packs.finder import ALIKE, unknown
from enpire.packs.finder import DRIVERS as DRIVERS_FILE
from enpire.packs.toml import REACH, Table
from enpire.real_path import real_path
from enpire.safety.geometry import Box
from enpire.safety.limits import SafetyLimits, narrowed, of_robot
from enpire.safety.watchdog import Ages
from enpire.types import FloatArray

LOG = logging.getLogger(__name__)
RATE = 100.0
RATES = (20.0, 500.0)
QUICKEST = 1e-3  # watchdog: no wire answers sooner, and it would stop every motion [s]
CORES = 4096  # of any machine
ON_WRIST = 0.5  # from a wrist to a camera that sits on it [m]
FARTHEST = 2.5  # from the workspace to a camera that tells millimetres there [m]
PART, MORE = 0.5, 2.0  # of a workspace, in a picture; times as much by another order of a turn
LONGEST_ARM = 3.0  # and the links of its hand [m]
_KEYS = ("driver", "robot", "rate", "wire", "park", "cameras")
_TABLES = ("limits", "watchdogs", "realtime", "keep_out", "calibration", *DRIVERS)


@dataclass(frozen=True, slots=True)
class RealTimeSettings:
    """The core and the SCHED_FIFO priority that the supervisor runs with; None: as others."""

    cpu: int | None = None
    priority: int | None = None


@dataclass(frozen=True, slots=True, eq=False)
class StationFile:
    """A station as its file says; sha256 over file, robot pack and its driver's settings."""

    path: Path
    driver: str
    robot: Robot
    period: float
    park: FloatArray  # (axes,), grippers as in the setpoint before (NaN)
    limits: SafetyLimits
    boxes: tuple[Box, ...]
    cameras: tuple[str, ...]
    calibrated: Mapping[str, CameraCalibration]  # cameras, by name
    verifier: bool
    ages: Ages
    realtime: RealTimeSettings
    settings: Table  # the driver's
    wire: str
    wiring: Table  # those of the wire, which tells of all that is no arm
    sha256: str

    @property
    def scenery(self) -> Site:
        """The place where its wire is."""
        return Site(self.path.stem, self.runtime, self.wiring)

    @property
    def site(self) -> Site:
        """The place where its driver works."""
        return Site(self.path.stem, self.runtime, self.settings)

    @property
    def records(self) -> Path:
        """Folder of its flight records."""
        return self.path.with_suffix(".records")

    @property
    def passed(self) -> Path:
        """The file in which its check is written down."""
        return self.path.with_suffix(".check.json")

    @property
    def runtime(self) -> Path:
        """Folder of its socket and mailboxes; see `runtime_folder`."""
        return runtime_folder(self.path)


def load_station(path: Path) -> StationFile:
    """Read a station file; raises PackError naming file and key."""
    if not path.is_file():
        raise PackError(f"{path} is no station file: there is no such file")
    path = real_path(path)
    table = Table.read(path)
    table.require_known(*_KEYS, *_TABLES)
    pack = find("robots", table.text("robot"))
    robot = load_robot(pack)
    drivers = pack.folder / DRIVERS_FILE
    wiring = drivers.read_bytes() if drivers.is_file() else b""
    rate = table.number("rate", RATE)
    if not RATES[0] <= rate <= RATES[1]:
        raise PackError(f"{path}: rate must be {RATES[0]:g} to {RATES[1]:g} Hz, found {rate:g}")
    limits = of_robot(robot)
    if table.has("limits"):
        limits = narrowed(limits, table.table("limits"))
    driver, wire = _chosen(table)
    watch = table.table("watchdogs") if table.has("watchdogs") else Table({}, str(path))
    return StationFile(
        path=path,
        driver=driver,
        robot=robot,
        period=1.0 / rate,
        park=_park(table, robot, limits),
        limits=limits,
        boxes=_boxes(table, robot),
        cameras=_cameras(table),
        calibrated=_calibrated(table, robot),
        verifier=watch.has("verifier"),
        ages=_ages(watch),
        realtime=_realtime(table),
        settings=_settings(table, driver, robot),
        wire=wire,
        wiring=_settings(table, wire, robot),
        sha256=hashlib.sha256(path.read_bytes() + pack.sha256.encode() + wiring).hexdigest(),
    )


def _chosen(table: Table) -> tuple[str, str]:
    """The driver and the wire; raises PackError for a table of another one, which nothing reads."""
    driver = table.text("driver")
    wire = table.text("wire", driver)
    if driver not in DRIVERS:
        raise PackError(f"{table.where}: {unknown('driver', driver, list(DRIVERS))}")
    if wire != driver and wire not in WIRES:
        raise PackError(f"{table.where}: {unknown('wire', wire, list(WIRES))}")
    for name in DRIVERS:
        if table.has(name) and name not in (driver, wire):
            raise PackError(
                f"{table.where}: nothing reads [{name}] of a station whose driver is {driver}: "
                f'take it out, or write driver = "{name}"'
            )
    return driver, wire


def _settings(table: Table, name: str, robot: Robot) -> Table:
    found = settings(name, robot, table.table(name) if table.has(name) else None)
    require_settings(name, robot, found, _cameras(table))
    return found


def _park(table: Table, robot: Robot, limits: SafetyLimits) -> FloatArray:
    joints = [arm.home for arm in robot.arms]
    if table.has("park"):
        joints = [table.numbers("park", len(robot.arms[0].home))] * len(robot.arms)
    park = np.concatenate([[*each, np.nan] for each in joints])
    if ((park < limits.low) | (park > limits.high)).any():
        raise PackError(f"{table.where}: park, or the robot's home, is outside the joints' ranges")
    return park


def _cameras(table: Table) -> tuple[str, ...]:
    names = table.texts("cameras") if table.has("cameras") else ()
    if len(set(names)) != len(names) or not all(name.strip() for name in names):
        raise PackError(f"{table.where}: cameras are each called by a name of its own")
    return names


def _calibrated(table: Table, robot: Robot) -> dict[str, CameraCalibration]:
    if not table.has("calibration"):
        return {}
    said, cameras = table.table("calibration"), _cameras(table)
    lacking = [name for name in cameras if not said.has(name)]
    for name in set(said.names) - set(cameras):
        if near := difflib.get_close_matches(name, lacking, 1, ALIKE):
            raise PackError(f"{said.where}: no camera is called {name}; do you mean {near[0]}?")
    found = read_cameras(said, tuple(arm.name for arm in robot.arms))
    for name, camera in found.items():
        if wrong := _out_of_place(camera, robot):
            at = ", ".join(f"{x:.3g}" for x in camera.position)
            raise PackError(
                f"{said.where} {name}: the camera at {at} m {wrong}: position [m] and quaternion "
                f"(w x y z) take points from the camera to {camera.mount}"
            )
        _tell_of_order(f"{said.where} {name}", camera, robot)
    return found


def _tell_of_order(where: str, camera: CameraCalibration, robot: Robot) -> None:
    """Tell of a camera that by a turn in the order x y z w would see far more of a workspace."""
    if camera.mount != WORLD:
        return
    x, y, z, w = camera.quaternion
    other = replace(camera, quaternion=(w, x, y, z))
    places = np.array(robot.limits.workspace_places())
    here, there = (float(each.shows(places).mean()) for each in (camera, other))
    if here < PART and there >= MORE * here:
        LOG.warning(
            "%s: the camera shows %.0f%% of the workspace of %s, and would show %.0f%% were its "
            "quaternion x y z w: it is read as w x y z",
            *(where, 100 * here, robot.name, 100 * there),
        )


def _out_of_place(camera: CameraCalibration, robot: Robot) -> str:
    """Return why a camera is of no use where it is; empty if nothing is known against it."""
    if camera.mount != WORLD:
        off = math.hypot(*camera.position) > ON_WRIST
        return f"is more than {ON_WRIST:g} m from the wrist of {camera.mount}" if off else ""
    if camera.position[2] < min(0.0, robot.limits.workspace_low[2]):
        return "is below the bench, whose top is at z = 0"
    places = np.array(robot.limits.workspace_places())
    away = float(np.linalg.norm(places - camera.position, axis=1).min())
    if away > FARTHEST:
        return (
            f"is {away:.1f} m from the workspace of {robot.name}, and {FARTHEST:g} m at most judge"
        )
    if not camera.shows(places).any():
        return f"shows nothing of the workspace of {robot.name}"
    return ""


def _ages(table: Table) -> Ages:
    widest = Ages()
    found = {}
    for key in table.names:
        if key not in Ages.__dataclass_fields__:
            raise PackError(f"{table.where}: {key} is no watchdog")
        found[key] = table.number(key)
        most = getattr(widest, key)
        if not QUICKEST <= found[key] <= most:
            raise PackError(f"{table.where}: {key} must be {QUICKEST:g} to {most:g} s")
    return Ages(**found)


def _realtime(table: Table) -> RealTimeSettings:
    if not table.has("realtime"):
        return RealTimeSettings()
    said = table.table("realtime")
    values = {key: said.number(key) for key in said.names}
    whole = all(value.is_integer() for value in values.values())
    within = 1 <= values.get("priority", 1) <= 99 and 0 <= values.get("cpu", 0) < CORES
    if set(values) - {"cpu", "priority"} or not (whole and within):
        raise PackError(f"{said.where}: cpu, a core's number, and priority, 1 to 99")
    return RealTimeSettings(**{key: int(value) for key, value in values.items()})


def _boxes(table: Table, robot: Robot) -> tuple[Box, ...]:
    if not table.has("keep_out"):
        return ()
    rows = table.tables("keep_out")
    boxes = tuple(map(_box, rows))
    if len({box.name for box in boxes}) != len(boxes):
        raise PackError(f"{table.where}: two of [[keep_out]] have the same name")
    bases = np.array([arm.position for arm in robot.arms])
    for row, box in zip(rows, boxes, strict=True):
        off = np.maximum(np.maximum(box.low - bases, bases - box.high), 0.0)
        if np.linalg.norm(off, axis=1).min() > LONGEST_ARM:
            raise PackError(
                f"{row.where}: {box.name} is more than {LONGEST_ARM:g} m from every arm's base and "
                "keeps nothing out: in m, no cm"
            )
        if ((box.low < bases) & (bases < box.high)).all(axis=1).any():
            raise PackError(f"{row.where}: an arm's base stands in {box.name}: nothing could move")
        places = np.array(robot.limits.workspace_places())
        if ((box.low <= places) & (places <= box.high)).all():
            raise PackError(
                f"{row.where}: {box.name} has the whole workspace in it: nothing could work"
            )
    return boxes


def _box(table: Table) -> Box:
    table.require_known("name", "low", "high")
    low, high = table.numbers("low", 3), table.numbers("high", 3)
    if not (np.isfinite([low, high]).all() and (np.array(low) < np.array(high)).all()):
        raise PackError(f"{table.where}: every number of low must be below that of high")
    if max(np.abs([low, high]).min(axis=0)) > REACH:
        raise PackError(
            f"{table.where}: a box that begins beyond {REACH:g} m keeps nothing out: in m, no mm"
        )
    return Box(table.text("name"), (low[0], low[1], low[2]), (high[0], high[1], high[2]))
