"""Packs' and stations' files that nobody has thought of: anything in place of one value.

Each is refused with a sentence, or taken with every number within what its reader allows.
"""

from __future__ import annotations

import copy
import math
import shutil
import tempfile
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tomli_w
from hypothesis import given, settings
from hypothesis import strategies as st

from enpire.errors import CampaignError, PackError, UsageError
from enpire.evolution.agents.programs import load_program
from enpire.packs import find, load_robot, load_world
from enpire.packs.robot import FASTEST, HARDEST, QUICKEST, TURN, Robot
from enpire.packs.toml import REACH
from enpire.safety.station import load_station
from enpire.session.loop_settings import OF_TASK, of_task

MANY = settings(max_examples=80, deadline=None)
NUMBERS = st.one_of(
    st.floats(), st.sampled_from([-1.0, 0.0, 57.3, 1e4, math.nan, math.inf, -math.inf])
)
LEAF = st.one_of(
    st.booleans(),
    st.integers(-(2**40), 2**40),
    NUMBERS,
    st.text(alphabet="aé手 /.\n", max_size=5),
    st.sampled_from(["", "/", "..", "http://[", "http://h:99999999", "ws://h", "\x7f"]),
    st.lists(NUMBERS, max_size=6),
    st.lists(st.lists(st.text(max_size=2), max_size=2), max_size=2),
    st.dictionaries(st.sampled_from(["a", "name", "low"]), NUMBERS, max_size=2),
)
STATION = {
    "driver": "mock",
    "robot": "yam",
    "rate": 100.0,
    "park": [0.0, 1.6, 1.3, -1.2, 0.0, 0.0],
    "cameras": ["top"],
    "limits": {"cartesian_speed": 0.1, "joint_speed": [1.0] * 6, "workspace_low": [0.2, 0.0, 0.1]},
    "watchdogs": {"verifier": 5.0},
    "realtime": {"cpu": 1, "priority": 50},
    "keep_out": [{"name": "wall", "low": [0.6, -1.0, 0.0], "high": [0.7, 1.0, 1.0]}],
}
AGENT = {
    "command": ["sh", "-c", "true"],
    "environment": {"A": "b"},
    "starts": 3,
    "hours": 2.0,
    "memory_gib": 4,
    "models": [{"name": "m", "url": "http://localhost:1", "allowed": ["POST /v1"]}],
    "prices": {"date": "2026-11-23", "source": "x", "input_tokens": 1.0, "output_tokens": 2.0},
}
LOOP = {
    "recipe": "bc",
    "demonstrations": 150,
    "exploration": 0.1,
    "execute": 2,
    "recipe_settings": {"a": 1},
}


def read(kind: str, name: str, file: str) -> dict[str, Any]:
    """A file of a pack that ships."""
    return tomllib.loads((find(kind, name).folder / file).read_text("utf-8"))  # type: ignore[arg-type]


def places(node: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The way to every value, tables and lists among them."""
    items = node.items() if isinstance(node, dict) else enumerate(node)
    for key, value in items:
        yield (*path, key)
        if isinstance(value, dict | list):
            yield from places(value, (*path, key))


def replaced(whole: dict[str, Any], place: tuple[Any, ...], value: Any) -> dict[str, Any]:
    """With another value in one place."""
    made = copy.deepcopy(whole)
    node: Any = made
    for key in place[:-1]:
        node = node[key]
    node[place[-1]] = value
    return made


def within_limits(robot: Robot) -> None:
    """What no sentence stopped is a robot that can be."""
    limits = robot.limits
    for values, most in (
        (limits.joint_speed, FASTEST),
        (limits.joint_acceleration, HARDEST),
        ((limits.cartesian_speed,), QUICKEST),
    ):
        assert all(0.0 < value <= most for value in values)
    for arm in robot.arms:
        assert all(abs(value) <= TURN for value in arm.home)
        assert all(abs(value) <= REACH for value in arm.position)
        assert math.hypot(*arm.quaternion) == pytest.approx(1.0, abs=1e-3)
        assert np.isfinite(arm.gripper_range).all()


def a_robot(folder: Path) -> None:
    within_limits(load_robot(find("robots", str(folder))))


def a_world(folder: Path) -> None:
    assert load_world(find("sim", str(folder))).model.is_file()


def an_agent(folder: Path) -> None:
    limits = load_program(find("agents", str(folder))).limits
    assert 0 < limits.wall_s < math.inf
    assert limits.memory > 0


def a_loop(folder: Path) -> None:
    said = of_task(find("tasks", str(folder)))
    assert said.keys() <= {*OF_TASK, "recipe_settings", "first_recipe_settings"}
    assert 0.0 <= said.get("exploration", 0.0) <= 1.0
    assert said.get("demonstrations", 1) >= 1
    assert 1 <= said.get("execute", 1) <= 8


def a_station(folder: Path) -> None:
    station = load_station(folder / "lab.toml")
    assert 0.002 <= station.period <= 0.05
    limits = station.limits
    assert (limits.low < limits.high).all()
    assert 0.0 < limits.cartesian_speed < math.inf
    for box in station.boxes:
        assert np.isfinite([box.low, box.high]).all()


DOORS: dict[str, tuple[dict[str, Any], str, Callable[[Path], None], Path | None]] = {
    "robot": (
        read("robots", "yam_bimanual", "robot.toml"),
        "robot.toml",
        a_robot,
        find("robots", "yam_bimanual").folder,
    ),
    "world": (
        read("sim", "bench", "world.toml"),
        "world.toml",
        a_world,
        find("sim", "bench").folder,
    ),
    "agent": (
        AGENT,
        "agent.toml",
        an_agent,
        find("agents", "claude").folder,
    ),
    "loop": (LOOP, "loop.toml", a_loop, None),
    "station": (STATION, "lab.toml", a_station, None),
}


@pytest.mark.parametrize("door", DOORS)
def test_as_it_ships(door: str, tmp_path: Path) -> None:
    """The control: each is taken before anything is changed."""
    whole, file, check, pack = DOORS[door]
    folder = laid_out(tmp_path, pack)
    (folder / file).write_text(tomli_w.dumps(whole), "utf-8")
    check(folder)


@pytest.mark.parametrize("door", DOORS)
@MANY
@given(data=st.data())
def test_anything_in_one_place(door: str, data: st.DataObject) -> None:
    whole, file, check, pack = DOORS[door]
    made = replaced(whole, data.draw(st.sampled_from(list(places(whole)))), data.draw(LEAF))
    with tempfile.TemporaryDirectory() as name:
        folder = laid_out(Path(name), pack)
        (folder / file).write_text(tomli_w.dumps(made), "utf-8")
        try:
            check(folder)
        except (PackError, CampaignError, UsageError):
            return


@pytest.mark.parametrize("door", DOORS)
@MANY
@given(data=st.data())
def test_bytes_that_are_lost_or_changed(door: str, data: st.DataObject) -> None:
    whole, file, check, pack = DOORS[door]
    text = tomli_w.dumps(whole).encode()
    at = data.draw(st.integers(0, len(text)))
    made = text[:at] + data.draw(st.binary(max_size=2)) + text[data.draw(st.integers(at, at + 9)) :]
    with tempfile.TemporaryDirectory() as name:
        folder = laid_out(Path(name), pack)
        (folder / file).write_bytes(made)
        try:
            check(folder)
        except (PackError, CampaignError, UsageError):
            return


def laid_out(folder: Path, pack: Path | None) -> Path:
    """A pack's files, or the one that makes a folder a task pack."""
    if pack is None:
        (folder / "task.py").touch()
        return folder
    return Path(shutil.copytree(pack, folder / "mine"))
