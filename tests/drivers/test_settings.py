"""A driver's settings: the robot's, under those of the station; no part of the pack."""

from __future__ import annotations

import shutil

import pytest

from enpire.drivers import settings
from enpire.errors import PackError
from enpire.packs import content_hash, find, load_robot
from enpire.packs.toml import Table
from enpire.safety.station import load_station


@pytest.fixture
def pack(tmp_path):
    folder = tmp_path / "so101"
    shutil.copytree(find("robots", "so101").folder, folder)
    return folder


def test_the_station_has_the_last_word_and_the_pack_stays_the_same(pack, tmp_path) -> None:
    before = content_hash(pack)
    (pack / "drivers.toml").write_text(
        '[ros2]\nnamespace = "/arm"\ncontroller = "arm_controller"\n[lerobot]\nport = "x"\n'
    )
    assert content_hash(pack) == before
    path = tmp_path / "left.toml"
    path.write_text(f'driver = "ros2"\nrobot = "{pack}"\n[ros2]\nnamespace = "/left"\n')
    station = load_station(path)
    assert station.site.name == "left"
    assert station.settings.text("namespace") == "/left"
    assert station.settings.text("controller") == "arm_controller"
    assert not station.settings.has("port")
    (pack / "drivers.toml").write_text('[ros2]\nnamespace = "/other"\n')
    assert load_station(path).sha256 != station.sha256  # it has to be checked anew


def test_a_config_is_of_its_type_alone(pack) -> None:
    robot = load_robot(find("robots", str(pack)))
    (pack / "drivers.toml").write_text(
        '[lerobot]\ntype = "so101_follower"\nkept = "y"\n[lerobot.config]\nport = "x"\n'
    )
    same = Table({"type": "so101_follower", "config": {"id": "left"}}, "station")
    assert settings("lerobot", robot, same).mapping("config") == {"port": "x", "id": "left"}
    other = Table({"type": "another", "config": {"id": "left"}}, "station")
    assert settings("lerobot", robot, other).mapping("config") == {"id": "left"}
    assert settings("lerobot", robot, other).text("kept") == "y"


def test_a_wire_beside_the_driver_has_settings_of_its_own(tmp_path) -> None:
    path = tmp_path / "left.toml"
    path.write_text(
        'driver = "lerobot"\nrobot = "so101"\nwire = "ros2"\n[ros2]\nnamespace = "/eyes"\n'
    )
    station = load_station(path)
    assert station.scenery.settings.text("namespace") == "/eyes"
    assert station.site.settings.text("type") == "so101_follower"
    path.write_text('driver = "lerobot"\nrobot = "so101"\nwire = "ross"\n')
    with pytest.raises(PackError, match="did you mean ros2"):
        load_station(path)


def test_without_a_file_or_a_table_there_are_none(pack) -> None:
    robot = load_robot(find("robots", str(pack)))
    assert settings("ros2", robot, None).names == ()
    assert settings("ros2", robot, Table({"a": 1}, "x")).names == ("a",)
    (pack / "drivers.toml").write_text("[lerobot]\nport = 'x'\n")
    assert settings("ros2", robot, None).names == ()
    (pack / "drivers.toml").write_text("[ros2\n")
    with pytest.raises(PackError, match="does not parse"):
        settings("ros2", robot, None)
