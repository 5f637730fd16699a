"""What is wrong in a pack's TOML is told by file and key."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from enpire.errors import PackError
from enpire.packs import find, load_robot, load_world
from enpire.packs.toml import Table


@pytest.fixture
def robot(tmp_path: Path) -> Path:
    """A copy of a robot with two arms."""
    folder = tmp_path / "mine"
    shutil.copytree(find("robots", "yam_bimanual").folder, folder)
    return folder


def broken(folder: Path, old: str, new: str) -> str:
    path = folder / "robot.toml"
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))
    with pytest.raises(PackError) as error:
        load_robot(find("robots", str(folder)))
    assert str(path) in str(error.value)
    return str(error.value)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("[limits]", "[limits", ["does not parse", "line"]),
        ("[limits]", "[limit]", ["limit means nothing here; do you mean limits?"]),
        ("[[arms]]", "[[arm]]", ["arm means nothing here; do you mean arms?"]),
        ("[variation]", "[variations]", ["variations means nothing", "variation?"]),
        ("kp = [", "kd = [", ["[variation]", "kd means nothing"]),
        ("cartesian_speed", "cartesian_sped", ["[limits]", "do you mean cartesian_speed?"]),
        ("position = [0.10, 0.34", "base = 1\nposition = [0.10, 0.34", ["base means nothing"]),
        ("joint_speed = [2.0", "joint_speed = [115.0", ["joint_speed", "20 rad/s, no degrees"]),
        ("joint_speed = [2.0", "joint_speed = [0.0", ["joint_speed must be above 0"]),
        ("joint_speed = [2.0", "joint_speed = [-2.0", ["joint_speed must be above 0"]),
        ("joint_speed = [2.0", "joint_speed = [nan", ["joint_speed has nan"]),
        ("joint_speed = [2.0", "joint_speed = [inf", ["joint_speed has inf"]),
        ("acceleration = [10.0", "acceleration = [573.0", ["at most 300 rad/s^2"]),
        ("speed = 0.25", "speed = 250", ["at most 5 m/s, no mm/s", "250"]),
        ("speed = 0.25", "speed = nan", ["cartesian_speed has nan"]),
        ("workspace_low = [0.12", "workspace_low = [120", ["within 10 m, no mm", "120"]),
        ("workspace_low = [0.12", "workspace_low = [0.9", ["must be below"]),
        ("home = [0.588, 1.634", "home = [33.7, 93.6", ["within 6.3 rad, no degrees", "93.6"]),
        ("position = [0.10, 0.34", "position = [100, 340", ["within 10 m, no mm", "340"]),
        ("gripper_range = [0.0, 0.075]", "gripper_range = [0.1, 0.1]", ["both are 0.1"]),
        ("quaternion = [1.0,", "quaternion = [0.0,", ["length 0"]),
        ("quaternion = [1.0, 0.0", "quaternion = [1.0, 1.0", ["length 1.41"]),
        ('model = "arm.xml"', 'model = "leg.xml"', ["leg.xml is not in the pack"]),
        ('model = "arm.xml"', "model = 3", ["[[arms]] 1", "model is 3, expected str"]),
        ('name = "right"', 'name = "left"', ["same name"]),
        ("cartesian_speed = 0.25", "", ["[limits]", "cartesian_speed must be a number"]),
        ("cartesian_speed = 0.25", "cartesian_speed = true", ["cartesian_speed", "True"]),
        ("position = [0.10, 0.34, 0.0]", "position = [0.1]", ["[[arms]] 1", "position", "3"]),
        ("position = [0.10, -0.34, 0.0]", 'position = "abc"', ["[[arms]] 2", "position"]),
        ("joint_speed = [2.0, ", "joint_speed = [", ["joint_speed must be 6 numbers"]),
        ("home = [0.588, ", "home = [", ["home needs 6 joints"]),
    ],
)
def test_a_broken_robot(robot: Path, old: str, new: str, words: list[str]) -> None:
    message = broken(robot, old, new)
    assert all(word in message for word in words), message


@pytest.mark.parametrize("change", [lambda t: "\ufeff" + t, lambda t: t.replace("\n", "\r\n")])
def test_a_file_as_other_editors_leave_it(robot: Path, change: Callable[[str], str]) -> None:
    """With a byte order mark, with another end of lines."""
    path = robot / "robot.toml"
    path.write_bytes(change(path.read_text("utf-8")).encode())
    assert len(load_robot(find("robots", str(robot))).arms) == 2


def test_arms_that_are_no_tables(tmp_path: Path) -> None:
    (tmp_path / "robot.toml").write_text("arms = [1, 2]\n")
    with pytest.raises(PackError, match=r"\[\[arms\]\] needs at least one table"):
        load_robot(find("robots", str(tmp_path)))


def test_a_file_that_is_not_text(tmp_path: Path) -> None:
    (tmp_path / "world.toml").write_bytes(b"name = '\xff'")
    with pytest.raises(PackError, match="does not parse"):
        load_world(find("sim", str(tmp_path)))


def test_a_world_without_its_model(tmp_path: Path) -> None:
    (tmp_path / "world.toml").write_text('description = "d"\nmodel = "no.xml"\n')
    with pytest.raises(PackError, match=r"world\.toml: model no\.xml is not in the pack"):
        load_world(find("sim", str(tmp_path)))


def test_lists_of_texts_and_what_there_is(tmp_path: Path) -> None:
    path = tmp_path / "x.toml"
    path.write_text('words = ["a", "b"]\nbad = ["a", 1]\nnone = []\n')
    table = Table.read(path)
    assert table.texts("words") == ("a", "b")
    assert table.names == ("words", "bad", "none")
    assert table.has("bad")
    assert not table.has("other")
    for key in ("bad", "none", "other"):
        with pytest.raises(PackError, match=key):
            table.texts(key)


def test_one_table_over_another_counts_key_by_key() -> None:
    pack = Table({"type": "a", "config": {"port": "x", "id": "y"}, "axes": [1]}, "pack")
    station = Table({"config": {"port": "z"}, "axes": [2]}, "station")
    both = station.over(pack)
    assert both.mapping("config") == {"port": "z", "id": "y"}
    assert both.text("type") == "a"
    assert both.raw("axes") == [2]
    assert pack.mapping("config") == {"port": "x", "id": "y"}
    assert "station" in both.where
