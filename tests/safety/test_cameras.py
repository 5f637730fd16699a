"""What the check of a station says of its cameras."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pytest

from enpire.drivers import Picture
from enpire.drivers.mock import Mock
from enpire.safety import cameras
from enpire.safety.cameras import ReceivedPicture, check_cameras, judged
from enpire.safety.station import StationFile, load_station
from tests.environment.hardware.test_verifier_cameras import SAID

MS = 10**6
SIZE = (SAID.width, SAID.height)


@pytest.fixture
def station(tmp_path: Path) -> StationFile:
    path = tmp_path / "lab.toml"
    path.write_text('driver = "mock"\nrobot = "yam"\ncameras = ["top"]\n')
    return replace(load_station(path), calibrated={"top": SAID})


def seen(
    every: int, age: int = 30 * MS, ahead: int = 0, size=SIZE, count: int = 20
) -> list[ReceivedPicture]:
    """Pictures that come every so many ns, as old as that when they come."""
    return [ReceivedPicture(k * every, k * every - age, ahead, size) for k in range(1, count + 1)]


def said(
    station: StationFile, pictures: list[ReceivedPicture], simulated: bool = False
) -> tuple[bool, str]:
    now = pictures[-1].came + 50 * MS if pictures else 0
    found = judged(station, "top", pictures, now, simulated)
    assert found.name == "camera top"
    return found.good, found.found


def test_a_camera_that_is_fit_is_told_with_its_size_rate_and_age(station) -> None:
    assert said(station, seen(100 * MS)) == (
        True,
        "4 x 3, 10.0 a second, 30 ms old when they come",
    )


@pytest.mark.parametrize(
    ("pictures", "wrong"),
    [
        ([], "no new picture in"),
        (seen(100 * MS, ahead=60 * MS, age=0), "0.060 s ahead of this machine's clock"),
        (seen(100 * MS, age=210 * MS), "0.210 s old when they come"),
        (seen(490 * MS), "0.52 s old, [watchdogs] camera allows 0.5"),
        ([*seen(100 * MS), ReceivedPicture(2800 * MS, 2790 * MS, 0, SIZE)], "was 0.83 s old"),
        (seen(100 * MS, size=(640, 480)), "640 x 480 pixels, calibrated with 4 x 3"),
    ],
)
def test_what_bites_later_is_refused(station, pictures, wrong) -> None:
    good, found = said(station, pictures)
    assert not good
    assert wrong in found


def test_a_camera_has_to_be_calibrated_unless_a_simulator_knows_where_it_is(station) -> None:
    unknown = replace(station, calibrated={})
    good, found = said(unknown, seen(100 * MS))
    assert not good
    assert found == "not calibrated: enpire station calibrate"
    assert said(unknown, seen(100 * MS), simulated=True)[0]


def test_a_narrower_watchdog_counts(station) -> None:
    narrow = replace(station, ages=replace(station.ages, camera=0.12))
    assert said(station, seen(100 * MS))[0]
    assert "camera allows 0.12" in said(narrow, seen(100 * MS))[1]


@dataclass
class Camera(Mock):
    """Arms with a camera that takes a picture whenever it is asked, until it is covered."""

    robot: object
    began: float = field(default_factory=time.monotonic)
    covered: bool = False

    def __post_init__(self) -> None:
        super().__init__(self.robot, time.monotonic_ns)

    def pictures(self) -> dict[str, Picture]:
        if not self.covered:
            self.newest = Picture(time.monotonic_ns(), np.zeros((3, 4, 3), np.uint8))
        return {"top": self.newest}


def test_a_drivers_own_cameras_are_looked_at(station, monkeypatch) -> None:
    monkeypatch.setattr(cameras, "LOOK_S", 0.2)
    monkeypatch.setattr(cameras, "FIRST_S", 0.3)
    arms = Camera(station.robot)
    seconds = replace(station, ages=replace(station.ages, camera=100.0))  # on a busy machine
    (found,) = check_cameras(seconds, arms)
    assert found.good, found.found
    arms.covered = True
    (found,) = check_cameras(seconds, arms)
    assert found.found.startswith("no new picture")
    assert check_cameras(replace(station, cameras=()), arms) == []


def test_cameras_that_nobody_carries_are_a_finding(station) -> None:
    (found,) = check_cameras(station, Mock(station.robot, time.monotonic_ns))
    assert not found.good
    assert "needs a wire" in found.found
