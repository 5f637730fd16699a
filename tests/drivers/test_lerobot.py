"""The driver for LeRobot's arms, on a plugin package: our twin behind LeRobot's interface."""

from __future__ import annotations

import io
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import date
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("lerobot.robots")

from enpire.calibration.shots import read_shots
from enpire.cli import main
from enpire.drivers import CameraDriver, Site, build, settings
from enpire.drivers.lerobot import bus
from enpire.drivers.lerobot.axes import Axes
from enpire.drivers.twin.driver import TwinArms
from enpire.errors import DriverError, PackError, SafetyError
from enpire.packs import find, load_robot
from enpire.packs.toml import Table
from enpire.safety.client import StationClient
from enpire.safety.launch import Supervision
from enpire.safety.machine import Mode
from enpire.safety.permit import Permit, write_passed
from enpire.safety.setpoint_follower import EVERY_S, SetpointFollower
from enpire.safety.station import load_station
from tests.drivers import lerobot_plugin as plugin
from tests.simulation.running import lerobots, simulated

pytestmark = pytest.mark.medium

WAIT_S = 30.0


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    plugin.install(tmp_path / "site", monkeypatch)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    return tmp_path


@pytest.fixture
def driver(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator:
    monkeypatch.setattr(bus, "PATIENCE_S", 30.0)  # a busy machine reads late, too
    robot = load_robot(find("robots", str(plugin.pack(folder))))
    site = Site(settings=settings("lerobot", robot, None))
    made = build("lerobot", robot, time.monotonic_ns, site)
    made.connect()
    yield made
    made.device.failing = False
    made.disconnect()


def until(true: Callable[[], bool]) -> None:
    end = time.monotonic() + WAIT_S
    while True:
        with suppress(SafetyError):  # a busy machine's supervisor is silent at times
            if true():
                return
        assert time.monotonic() < end, "it never came about"
        time.sleep(0.002)


def test_it_reads_and_sends_in_our_units(driver) -> None:
    home = np.array([0.0, -0.195, 0.119, 1.376, 1.5708, 1.74533])
    reading = driver.read()
    assert reading.position == pytest.approx(home, abs=0.03)
    assert np.isnan(reading.effort).all()
    assert reading.force.shape == (1, 3)
    target = home + np.array([0.1, 0, 0, 0, 0, -0.5])
    driver.send(target)
    until(lambda: bool(driver.device.log))
    sent = driver.device.log[0]
    assert sent["shoulder_pan.pos"] == pytest.approx(np.degrees(0.1))
    assert sent["gripper.pos"] == pytest.approx(100 * (1 - 0.5 / 1.91986))
    until(lambda: np.allclose(driver.read().position, target, atol=0.03))
    assert 0 <= time.monotonic_ns() - driver.read().stamp < WAIT_S * 1e9


def test_calls_do_not_wait_for_the_bus(driver) -> None:
    driver.device.config.bus_s = 3.0
    time.sleep(0.01)  # the slow call is under way, or about to be
    began = time.monotonic()
    stamp = driver.read().stamp
    driver.send(driver.read().position)
    driver.stop()
    assert time.monotonic() - began < 2.0
    driver.device.config.bus_s = 0.0
    until(lambda: driver.read().stamp > stamp)


def test_a_stop_holds_where_the_arm_is_and_drops_what_was_to_be_sent(driver) -> None:
    start, log = driver.read().position, driver.device.log
    driver.device.config.bus_s = 0.05
    driver.send(start + 0.5)
    driver.stop()
    until(lambda: bool(log) and log[-1]["shoulder_pan.pos"] < np.degrees(start[0] + 0.4))
    driver.device.config.bus_s = 0.0
    until(lambda: abs(driver.read().velocity).max() < 0.02)
    here = driver.read().position[0]
    assert log[-1]["shoulder_pan.pos"] == pytest.approx(np.degrees(here), abs=3)


def test_a_stop_keeps_a_grip(driver) -> None:
    start, log = driver.read().position, driver.device.log
    driver.send(start - np.array([0, 0, 0, 0, 0, 0.5]))
    until(lambda: bool(log))
    closing = log[0]["gripper.pos"]
    driver.stop()
    until(lambda: len(log) == 2)
    assert log[1]["gripper.pos"] == closing


def test_a_hold_is_sent_again_until_the_bus_takes_it(driver) -> None:
    driver.device.failing = True
    driver.stop()
    until(lambda: driver.device.refused > 2)
    driver.device.failing = False
    until(lambda: bool(driver.device.log))


def test_a_bus_that_errs_for_long_is_an_error(driver, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bus, "PATIENCE_S", 1.0)
    driver.device.failing = True

    def raises() -> bool:
        try:
            driver.read()
        except DriverError as error:
            return "status packet" in str(error)
        return False

    until(raises)
    monkeypatch.setattr(bus, "PATIENCE_S", 30.0)
    driver.device.failing = False
    until(lambda: not raises())


def test_its_cameras_are_offered(driver) -> None:
    assert isinstance(driver, CameraDriver)
    first = driver.pictures()["top"]
    assert first.image.shape == (4, 6, 3)
    until(lambda: driver.pictures()["top"].stamp > first.stamp)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("calibrated = false", "lerobot-calibrate"),
        ("broken = true", "no such port"),
        ("prt = 1", "prt"),
    ],
)
def test_what_is_wrong_with_the_arm_is_told(folder, capsys, line, said) -> None:
    assert main(["station", "check", str(plugin.station(folder, line))]) == 1
    assert said in capsys.readouterr().err


def test_the_type_and_its_packages_are_told(folder, capsys) -> None:
    path = folder / "lab.toml"
    path.write_text('driver = "lerobot"\nrobot = "so101"\n')
    if find_spec("scservo_sdk") is None:
        assert main(["station", "check", str(path)]) == 1
        assert "feetech" in capsys.readouterr().err
    path.write_text('driver = "lerobot"\nrobot = "so101"\n[lerobot]\ntype = "so101_folower"\n')
    assert main(["station", "check", str(path)]) == 1
    assert "did you mean so101_follower" in capsys.readouterr().err
    path.write_text('driver = "lerobot"\nrobot = "yam"\n')
    assert main(["station", "check", str(path)]) == 1
    assert "type is missing" in capsys.readouterr().err


def test_a_station_file_counts_over_the_pack_and_both_are_sealed(folder) -> None:
    path = plugin.station(folder, 'id = "b"')
    loaded = load_station(path)
    made = build("lerobot", loaded.robot, time.monotonic_ns, loaded.site)
    assert made.device.id == "b"
    toml = loaded.robot.arms[0].model.parent / "drivers.toml"
    toml.write_text(toml.read_text().replace('"elbow_flex"', '"elbow_flex"\nsign = -1'))
    again = load_station(path)
    assert again.robot.sha256 == loaded.robot.sha256, "how it is reached is no part of the pack"
    assert again.sha256 != loaded.sha256, "but a check made before counts no more"


def test_an_axis_is_turned_shifted_or_stretched() -> None:
    rows = [
        {"motor": "a", "sign": -1, "offset": 0.5},
        {"motor": "b", "unit": "radians"},
        {"motor": "c", "theirs": [-100, 100], "ours": [0.08, 0.0]},
    ]
    axes = Axes.read([Table(row, "here") for row in rows])
    theirs = {"a.pos": 90.0, "b.pos": 0.25, "c.pos": 50.0}
    ours = axes.ours(theirs)
    assert ours == pytest.approx([0.5 - np.pi / 2, 0.25, 0.02])
    assert axes.theirs(ours) == pytest.approx(theirs)
    with pytest.raises(DriverError, match=r"a\.pos"):
        axes.ours({"b.pos": 0.0})


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ({"motor": "a", "sign": 2}, "1 or -1"),
        ({"motor": "a", "unit": "turns"}, "degrees"),
        ({"motor": "a", "ours": [0, 1]}, "theirs"),
        ({"motor": "a", "theirs": [1, 1], "ours": [0, 1]}, "different"),
        ({"motor": "a", "invert": True}, "means nothing"),
    ],
)
def test_what_is_wrong_in_an_axis_is_told(row, said) -> None:
    with pytest.raises(PackError, match=said):
        Axes.read([Table(row, "here")])
    with pytest.raises(PackError, match="two axes"):
        Axes.read([Table({"motor": "a"}, "here")] * 2)


def test_setpoints_move_it_through_the_supervisor_and_a_stop_holds_it(folder) -> None:
    station = load_station(plugin.station(folder))
    write_passed(station, date.today(), ())  # a busy machine's readings may be too old for a check
    with Supervision(station, Permit.MOTION) as supervision:
        client = StationClient(supervision.folder)

        def moved() -> bool:
            """By one try: a heartbeat may lapse on a busy machine."""
            supervision.ask("episode")
            mode = supervision.ask("status")["mode"]
            if mode != "armed":
                supervision.ask("arm" if mode == "idle" else "recover")
            until(lambda: client.status().mode in (Mode.ARMED, Mode.HOLDING))
            following = SetpointFollower(station, client)
            start = client.status().sent
            try:
                for away in np.linspace(0, 0.04, 15):
                    following.go(start + away * np.eye(6)[0])
                    time.sleep(EVERY_S)
                following.rest()
            except SafetyError:
                until(lambda: client.status().mode is Mode.HOLDING)
                return False
            finally:
                following.close()
            return abs(client.status().sent[0] - start[0] - 0.04) < 1e-6

        until(moved)
        sent = client.status().sent[0]
        # The servo's dry friction leaves it 9 mrad short (0.196 N m of 22.1 N m/rad), or 11.
        until(lambda: abs(client.status().measured[0] - sent) < 0.012)
        assert main(["station", "stop", str(station.path)]) == 0
        until(lambda: client.status().mode is Mode.LATCHED)


def test_pictures_are_recorded_with_where_the_arm_is(folder, monkeypatch, capsys) -> None:
    path, shots = plugin.station(folder), folder / "shots"
    asked = ["station", "calibrate", str(path), "--shots", str(shots), "--record", "--camera"]
    monkeypatch.setattr("sys.stdin", io.StringIO("\n\n\n"))
    assert main([*asked, "top"]) == 0
    taken = read_shots(shots, 6)
    assert 1 <= len(taken) <= 3, "none while the arm moves"
    image, position = taken[0]
    assert image.shape == (4, 6, 3)
    assert position[4] == pytest.approx(1.5708, abs=0.05)
    monkeypatch.setattr("sys.stdin", io.StringIO("\n"))
    assert main([*asked, "side"]) == 2
    assert "no camera side; the driver's: top" in capsys.readouterr().err


def leading(folder: Path, away: float) -> Path:
    """A station with a leader arm that is held so many degrees away from home."""
    path = plugin.station(folder)
    path.write_text(
        f'{path.read_text()}[lerobot.teleoperator]\ntype = "twin_leader"\n'
        f"[lerobot.teleoperator.config]\naway = {away}\n"
        f'calibration_dir = "{folder / "leader"}"\n'
    )
    return path


@pytest.mark.slow  # up to four supervisors, each of which imports LeRobot
def test_an_arm_follows_a_leader_through_its_supervisor(folder, capfd) -> None:
    path = leading(folder, 8.0)
    write_passed(load_station(path), date.today(), ())
    asked = ["station", "teleop", str(path), "--dry-run", "--seconds"]
    for seconds in ("0.5", "2", "5", "10"):  # on a busy machine a heartbeat may lapse
        code, told = main([*asked, seconds]), capfd.readouterr().err
        sent = [line for line in told.splitlines() if line.startswith("[")]
        reached = float(sent[-1].strip("[] ").split()[0]) if sent else 0.0
        if reached == pytest.approx(np.radians(8.0), abs=0.01):
            break
    assert reached == pytest.approx(np.radians(8.0), abs=0.01), (code, told[-500:])
    way = [float(line.strip("[] ").split()[0]) for line in sent]
    assert max(np.diff(way)) < 0.021, "at no more than the joint's speed: 2 rad/s at 100 Hz"


def test_lerobot_makes_a_simulated_arm_by_its_type(folder) -> None:
    from lerobot.robots import RobotConfig, make_robot_from_config

    import enpire.drivers.lerobot.simulated  # noqa: F401  as the driver's packages are imported

    said = {"station": str(lerobots(folder).path), "calibration_dir": folder / "calibration"}
    arm = make_robot_from_config(RobotConfig.get_choice_class("enpire_simulated")(**said))
    assert (arm.name, arm.is_connected) == ("enpire_simulated", False)
    assert "gripper.pos" in arm.action_features


@pytest.mark.slow
def test_a_simulated_arm_behind_lerobot_follows_a_leader(folder) -> None:
    station = lerobots(folder)
    arm = TwinArms(station.robot, time.monotonic_ns, station.site)
    with simulated(station):
        arm.connect()
        goal = arm.read().position[0] + 0.1
        leader = '[lerobot.teleoperator]\ntype = "twin_leader"\n[lerobot.teleoperator.config]\n'
        leader += f'away = {np.degrees(goal)}\ncalibration_dir = "{folder / "leader"}"\n'
        station = lerobots(folder, leader)
        write_passed(station, date.today(), ())
        asked = ["station", "teleop", str(station.path), "--confirm-motion", "--seconds"]
        for seconds in ("1", "3", "10"):  # on a busy machine a heartbeat may lapse
            main([*asked, seconds])
            if (reached := arm.read().position[0]) == pytest.approx(goal, abs=0.02):
                break
        arm.disconnect()
    assert reached == pytest.approx(goal, abs=0.02)


def test_a_leader_that_is_held_elsewhere_is_not_followed(folder, capsys) -> None:
    path = leading(folder, 40.0)
    write_passed(load_station(path), date.today(), ())
    said = "axis 1 by +0.70 rad"
    for _ in range(20):  # on a busy machine a supervisor may be silent for too long, or none begin
        assert main(["station", "teleop", str(path), "--dry-run"]) == 1
        if said in (told := capsys.readouterr().err):
            break
    assert said in told
    assert main(["station", "teleop", str(path)]) == 2
    assert "--confirm-motion" in capsys.readouterr().err
