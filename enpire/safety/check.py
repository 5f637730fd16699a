"""`enpire station check`: whether a station is fit to move today. Nothing moves by it."""

from __future__ import annotations

import time

import numpy as np

from enpire.drivers import Driver, Reading
from enpire.errors import SafetyError
from enpire.safety.cameras import check_cameras
from enpire.safety.finding import SafetyFinding
from enpire.safety.geometry import Geometry
from enpire.safety.station import StationFile
from enpire.safety.supervisor import STILL

READINGS = 100


def check(station: StationFile, driver: Driver) -> list[SafetyFinding]:
    """Connect, read for a second, and hold what is read against the station's limits.

    Where the station's file names cameras, they are looked at, too.
    """
    geometry = Geometry(station.robot, station.limits, station.boxes)
    driver.connect()
    try:
        readings, took, ages = _read(driver, station)
        cameras = check_cameras(station, driver)
    finally:
        driver.disconnect()
    shapes = {reading.position.shape for reading in readings}
    if (
        shapes != {station.limits.low.shape}
        or not np.isfinite([r.position for r in readings]).all()
    ):
        raise SafetyError(
            f"the driver says {shapes}, or no numbers; {station.robot.name} has "
            f"{len(station.limits.low)} axes"
        )
    last, limits = readings[-1], station.limits
    joints = ~limits.grippers
    outside = np.maximum(limits.low - last.position, last.position - limits.high)[joints].max()
    speed = max(float((abs(r.velocity) / limits.speed).max()) for r in readings)
    forbidden = geometry.forbidden(np.clip(last.position, limits.low, limits.high))
    park = np.where(np.isnan(station.park), last.position, station.park)
    parked = geometry.forbidden(park)
    usual = float(np.quantile(took, 0.9))  # the system may hold up one or the other
    force = np.sqrt((last.force**2).sum(-1))
    touching = ", ".join(f"{a} with {b}" for a, b in geometry.touching) or "none"
    return [
        SafetyFinding("driver answers", usual < station.period / 4, f"in {usual * 1e3:.2f} ms"),
        SafetyFinding(
            "readings fresh", max(ages) < station.ages.driver, f"{max(ages) * 1e3:.1f} ms old"
        ),
        SafetyFinding("joints in range", bool(outside <= 0), f"{outside:+.3f} rad beyond"),
        SafetyFinding("arms still", speed <= STILL, f"{speed:.1%} of the speed limit"),
        SafetyFinding("posture free", not forbidden, ", ".join(forbidden.names) or "free"),
        SafetyFinding("parking posture free", not parked, ", ".join(parked.names) or "free"),
        SafetyFinding(
            "wrist force",
            not (force > limits.wrist_force).any(),
            "not measured: no such rule here" if np.isnan(force).any() else f"{force.max():.1f} N",
        ),
        *cameras,
        SafetyFinding("pairs not watched", True, f"{touching} (near at home already)"),
    ]


def _read(driver: Driver, station: StationFile) -> tuple[list[Reading], list[float], list[float]]:
    readings, took, ages = [], [], []
    for _ in range(READINGS):
        begin = time.monotonic_ns()
        readings.append(driver.read())
        end = time.monotonic_ns()
        took.append((end - begin) * 1e-9)
        ages.append((end - readings[-1].stamp) * 1e-9)
        time.sleep(station.period)  # as a supervisor reads
    return readings, took, ages
