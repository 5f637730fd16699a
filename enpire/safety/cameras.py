"""The cameras that a station's file names: their pictures, and whether these are fit to rely on."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from enpire.drivers import WIRES, CameraDriver, Driver, Picture
from enpire.drivers.build import open_wire
from enpire.errors import DriverError, UsageError
from enpire.safety.finding import SafetyFinding
from enpire.safety.station import StationFile

FIRST_S = 10.0  # for the first picture: ROS 2 takes a while to find who publishes
LOOK_S = 3.0  # for which pictures are then looked at
POLL_S = 0.002
CLOCK_S = 0.05  # by which a camera's clock may be ahead
OLD_S = 0.2  # age of a picture, when it comes, at which a verifier counts it as not seen


class Showing(Protocol):
    """Says what cameras show. simulated: they are a simulator's, which knows where they are."""

    simulated: bool

    def picture(self, camera: str) -> Picture | None:
        """The newest picture of one; None before the first."""


@dataclass(frozen=True, slots=True)
class _OfDriver:
    """Cameras that come with the arms."""

    driver: CameraDriver
    simulated: bool = False

    def picture(self, camera: str) -> Picture | None:
        return self.driver.pictures().get(camera)


@dataclass(frozen=True, slots=True)
class ReceivedPicture:
    """A picture as it came. Both times [monotonic ns]; ahead: as of `Picture`; size: width, height
    [px].
    """

    came: int
    stamp: int
    ahead: int
    size: tuple[int, int]


@contextmanager
def opened(station: StationFile, driver: Driver | None = None) -> Iterator[Showing]:
    """The station's cameras over its wire, or those of its driver where no wire is named.

    driver: the station's, connected.

    Raises:
        DriverError: the wire is not there.
        UsageError: there are no such cameras.
    """
    if station.wire not in WIRES and isinstance(driver, CameraDriver):
        yield _OfDriver(driver)
        return
    wire = open_wire(station.wire, station.scenery, time.monotonic_ns)
    try:
        wire.watch(station.cameras)
        yield wire
    finally:
        wire.close()


def check_cameras(station: StationFile, driver: Driver) -> list[SafetyFinding]:
    """Look at the station's cameras for a few seconds; a finding for each."""
    if not station.cameras:
        return []
    try:
        with opened(station, driver) as showing:
            seen, simulated = _received(showing, station.cameras), showing.simulated
    except (DriverError, UsageError) as error:
        return [SafetyFinding("cameras", False, str(error))]
    now = time.monotonic_ns()
    return [judged(station, name, each, now, simulated) for name, each in seen.items()]


def judged(
    station: StationFile, camera: str, seen: Sequence[ReceivedPicture], now: int, simulated: bool
) -> SafetyFinding:
    """What is to be said of a camera whose pictures have been looked at until `now`."""
    wrong, name = [], f"camera {camera}"
    calibrated = station.calibrated.get(camera)
    if calibrated is None and not simulated:
        wrong.append("not calibrated: enpire station calibrate")
    if not seen:
        wrong.insert(0, f"no new picture in {FIRST_S:g} s: is it on, is its topic right?")
        return SafetyFinding(name, False, "; ".join(wrong))
    sizes = {each.size for each in seen}
    said = " and ".join(f"{width} x {height}" for width, height in sorted(sizes))
    if calibrated is not None and sizes != {(calibrated.width, calibrated.height)}:
        wrong.append(
            f"{said} pixels, calibrated with {calibrated.width} x {calibrated.height}: calibrate "
            "it anew"
        )
    ahead = float(np.median([each.ahead for each in seen])) * 1e-9
    age = float(np.median([each.came - each.stamp for each in seen])) * 1e-9
    if ahead > CLOCK_S:
        wrong.append(
            f"stamps {ahead:.3f} s ahead of this machine's clock: synchronise the clocks (chrony)"
        )
    if age > OLD_S:
        wrong.append(
            f"{age:.3f} s old when they come, at most {OLD_S:g}: synchronise the clocks (chrony), "
            "or send less"
        )
    replaced = [*(each.came for each in seen[1:]), now]  # when each was the newest no more
    oldest = max(end - each.stamp for each, end in zip(seen, replaced, strict=True)) * 1e-9
    if oldest > station.ages.camera:
        wrong.append(
            f"the newest was {oldest:.2f} s old, [watchdogs] camera allows {station.ages.camera:g}"
        )
    rate = (len(seen) - 1) / max((seen[-1].came - seen[0].came) * 1e-9, POLL_S)
    shown = f"{said}, {rate:.1f} a second, {age * 1e3:.0f} ms old when they come"
    return SafetyFinding(name, not wrong, "; ".join(wrong) or shown)


def _received(showing: Showing, cameras: Sequence[str]) -> dict[str, list[ReceivedPicture]]:
    """What comes in LOOK_S, once all cameras have shown something new, or FIRST_S are over."""
    seen: dict[str, list[ReceivedPicture]] = {camera: [] for camera in cameras}
    newest: dict[str, Picture | None] = dict.fromkeys(cameras)
    end, waiting = time.monotonic() + FIRST_S, True
    while time.monotonic() < end:
        for camera in cameras:
            picture = showing.picture(camera)
            if picture is None or picture is newest[camera]:
                continue
            before, newest[camera] = newest[camera], picture
            if before is None:
                continue  # there is no saying when it came
            height, width = picture.image.shape[:2]
            seen[camera].append(
                ReceivedPicture(time.monotonic_ns(), picture.stamp, picture.ahead, (width, height))
            )
        if waiting and all(seen.values()):
            waiting, end = False, time.monotonic() + LOOK_S
            for each in seen.values():
                del each[:-1]
        time.sleep(POLL_S)
    return seen
