"""The launch files describe commands that exist; `launch` itself need not be installed."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

from enpire.cli import loop
from enpire.cli.options.parser import Parser
from enpire.cli.station import station

FILES = sorted((Path(__file__).parents[2] / "launch" / "ros2").glob("*.launch.py"))
VALUES = {
    "station": "left.toml",
    "task": "pick_cube",
    "faults": "none",
    "seed": "0",
    "motion": "--dry-run",
}


class Recorded:
    """Whatever `launch` has: what it was made with."""

    def __init__(self, *args, **kwargs) -> None:
        self.args, self.__dict__ = args, {"args": args, **kwargs}


@pytest.fixture
def described(monkeypatch):
    """What a launch file describes, with a `launch` that records only."""

    def stand_in(name: str, *kinds: str) -> None:
        module = ModuleType(name)
        for kind in kinds:
            setattr(module, kind, type(kind, (Recorded,), {}))
        monkeypatch.setitem(sys.modules, name, module)

    stand_in("launch", "LaunchDescription")
    actions = ("DeclareLaunchArgument", "EmitEvent", "ExecuteProcess", "RegisterEventHandler")
    stand_in("launch.actions", *actions)
    stand_in("launch.event_handlers", "OnProcessExit")
    stand_in("launch.events", "Shutdown")
    stand_in("launch.substitutions", "LaunchConfiguration")
    stand_in("launch_ros")
    stand_in("launch_ros.actions", "Node")
    return lambda path: runpy.run_path(str(path))["generate_launch_description"]().args[0]


def of(kind: str, described) -> list:
    return [one for one in described if type(one).__name__ == kind]


def words(process) -> list[str]:
    return [w if isinstance(w, str) else VALUES[w.args[0]] for w in process.cmd]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_value_that_is_used_can_be_given(path, described) -> None:
    found = described(path)
    declared = {one.args[0] for one in of("DeclareLaunchArgument", found)}
    used = {w.args[0] for p in of("ExecuteProcess", found) for w in p.cmd if not isinstance(w, str)}
    assert used <= declared
    assert of("ExecuteProcess", found) or of("Node", found)


def test_the_simulated_station_and_the_loop_are_commands_of_ours(described) -> None:
    by_name = {path.name.split(".")[0]: path for path in FILES}
    (sim,) = of("ExecuteProcess", described(by_name["simulated"]))
    assert words(sim)[:2] == ["enpire", "station"]
    parser = Parser("enpire station", "")
    station.add_options(parser)
    assert parser.parse_args(words(sim)[2:]).what == "sim"
    found = described(by_name["loop"])
    (check,) = of("ExecuteProcess", found)
    assert parser.parse_args(words(check)[2:]).what == "check"
    (handler,) = of("RegisterEventHandler", found)
    checked = handler.args[0].on_exit
    (started,) = checked(SimpleNamespace(returncode=0), None)
    parser = Parser("enpire loop", "")
    loop.add_options(parser)
    asked = parser.parse_args(words(started)[2:])
    assert (asked.task, asked.dry_run, asked.confirm_motion) == ("pick_cube", True, False)
    (stopped,) = checked(SimpleNamespace(returncode=1), None)
    assert type(stopped).__name__ == "EmitEvent"
