"""Who tells an armed station where to go is told when it has stopped."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from enpire.drivers import Picture
from enpire.drivers.mailbox import Beats
from enpire.errors import SafetyError
from enpire.safety import setpoint_follower as module
from enpire.safety.machine import Mode
from enpire.safety.messages import SupervisorStatus, TimedSetpoint
from enpire.safety.process import BEATS
from enpire.safety.rules import GateRule
from enpire.safety.setpoint_follower import EVERY_S, SetpointFollower
from enpire.safety.station import StationFile, load_station

AXES = np.zeros(7)
ARMED = SupervisorStatus(
    1, 2, 7, Mode.ARMED, GateRule.NONE, 0, -1, 0, AXES, AXES, AXES, np.zeros((1, 3)), 1
)


class Streaming:
    """Of no process: keeps what it is told."""

    def __init__(self, station: StationFile) -> None:
        self.told: list[TimedSetpoint] = []
        self.alive = True

    def put(self, knot: TimedSetpoint) -> None:
        self.told.append(knot)

    def close(self) -> None:
        self.alive = False


@pytest.fixture
def station(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> StationFile:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    monkeypatch.setattr(module, "Streaming", Streaming)
    path = tmp_path / "lab.toml"
    path.write_text('driver = "mock"\nrobot = "yam"\n')
    made = load_station(path)
    made.runtime.mkdir()
    Beats.make(made.runtime / BEATS, 2)
    return made


def made(station: StationFile, *said: SupervisorStatus) -> SetpointFollower:
    """Of a supervisor that says so, the last for ever."""
    left = list(said)
    client = SimpleNamespace(status=lambda: left.pop(0) if len(left) > 1 else left[0])
    return SetpointFollower(station, client)


def test_it_tells_the_streamer_for_as_long_as_the_station_goes_on(station) -> None:
    moving = replace(ARMED, mode=Mode.MOVING)
    following = made(station, ARMED, ARMED, moving, moving, ARMED)
    following.go(AXES + 1)
    following.go(AXES + 2)
    following.rest()
    told = following._streaming.told
    assert [knot.setpoint[0] for knot in told] == [1, 2]
    assert {(knot.epoch, knot.seconds) for knot in told} == {(7, EVERY_S)}
    assert Beats(station.runtime / BEATS, 2).stamp(0) == told[-1].stamp  # of who judges
    following.close()
    with pytest.raises(SafetyError, match="streamer has ended"):
        following.go(AXES)


@pytest.mark.parametrize(
    ("said", "why"),
    [
        (replace(ARMED, mode=Mode.HOLDING, rules=GateRule.WRIST_FORCE), "stopped: wrist force"),
        (replace(ARMED, mode=Mode.STOPPING, rules=GateRule.ASKED), "stopped: asked"),
        (replace(ARMED, epoch=8), "stopped: armed"),  # and somebody else has armed it
    ],
)
def test_a_stop_is_told_with_its_rule(station, said, why) -> None:
    following = made(station, ARMED, said)
    with pytest.raises(SafetyError, match=why):
        following.go(AXES)
    with pytest.raises(SafetyError, match=why):
        following.rest()


def test_who_is_not_armed_follows_nobody(station) -> None:
    with pytest.raises(SafetyError, match="idle, not armed"):
        made(station, replace(ARMED, mode=Mode.IDLE))


def test_its_cameras_are_said_to_be_alive_by_their_pictures(station, monkeypatch) -> None:
    wire = SimpleNamespace(
        watch=lambda cameras: None,
        picture=lambda camera: Picture(12345, np.zeros((3, 4, 3), np.uint8)),
        close=lambda: None,
    )
    monkeypatch.setattr("enpire.safety.cameras.open_wire", lambda *which: wire)
    following = made(replace(station, wire="ros2", cameras=("top",)), ARMED)
    following.go(AXES)
    assert Beats(station.runtime / BEATS, 2).stamp(0) == 12345
