"""Station files, and the check of a station."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest

from enpire.cli import main
from enpire.drivers.mock import Mock
from enpire.errors import PackError
from enpire.safety.check import check
from enpire.safety.station import load_station

GOOD = """
driver = "mock"
robot = "yam_bimanual"
rate = 200
cameras = ["top"]
[limits]
cartesian_speed = 0.1
[watchdogs]
camera = 0.2
verifier = 1.0
[[keep_out]]
name = "wall"
low = [0.7, -1.0, 0.0]
high = [0.8, 1.0, 1.0]
"""


def written(folder: Path, text: str) -> Path:
    path = folder / "lab.toml"
    path.write_text(text)
    return path


def test_a_station_file_is_read(tmp_path) -> None:
    station = load_station(written(tmp_path, GOOD))
    assert station.period == 0.005
    assert station.limits.cartesian_speed == 0.1
    assert station.ages.camera == 0.2
    assert station.verifier
    assert station.boxes[0].high == (0.8, 1.0, 1.0)
    assert np.isnan(station.park).nonzero()[0].tolist() == [6, 13]
    before = station.sha256
    assert load_station(written(tmp_path, GOOD + "\n")).sha256 != before


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("rate = 5", "20 to 500"),
        ("speed = 5", "means nothing"),
        ("park = [0, 0, 0]", "6 numbers"),
        ("park = [9, 0, 0, 0, 0, 0]", "outside"),
        ("[watchdogs]\nheartbeat = 0.1", "0.001 to 0.02 s"),
        ("[watchdogs]\nheart = 0.1", "no watchdog"),
        ("[watchdogs]\ncamera = 0.0", "0.001 to"),
        ("[limits]\ncartesian_speed = 1.0", "wider"),
        ("[realtime]\npriority = 100", "1 to 99"),
        ('[[keep_out]]\nname="w"\nlow=[0,0,0]\nhigh=[1,0,1]', "below"),
    ],
)
def test_what_is_wrong_in_it_is_told_with_the_file(tmp_path, line, said) -> None:
    with pytest.raises(PackError, match=said) as error:
        load_station(written(tmp_path, f'driver = "mock"\nrobot = "yam"\n{line}\n'))
    assert "lab.toml" in str(error.value)


def test_the_check_passes_and_is_taken_back_when_it_fails(tmp_path, capsys) -> None:
    path = written(tmp_path, 'driver = "mock"\nrobot = "yam"\nrate = 500\n')
    assert main(["station", "check", str(path)]) == 0
    passed = load_station(path).passed
    assert passed.is_file()
    assert "arm_link4 with arm_link6" in capsys.readouterr().out
    blocked = '[[keep_out]]\nname = "here"\nlow = [0.2, -0.1, 0.0]\nhigh = [0.5, 0.1, 0.5]\n'
    written(tmp_path, path.read_text() + blocked)
    assert main(["station", "check", str(path)]) == 1
    assert "BAD  posture free: keep out" in capsys.readouterr().out
    assert not passed.is_file()


def test_an_arm_that_swings_or_stands_outside_its_range_fails(tmp_path) -> None:
    station = load_station(written(tmp_path, 'driver = "mock"\nrobot = "yam"\nrate = 500\n'))
    reads = itertools.count(10**12, 10**6)  # a ms each: a busy machine's are farther apart
    arms = Mock(station.robot, lambda: next(reads))
    arms.position = arms.position + np.array([0, 0, 3.0, 0, 0, 0, 0])
    bad = {finding.name for finding in check(station, arms) if not finding.good}
    assert {"joints in range", "arms still"} <= bad
