"""One station with all its processes: simulated arms, supervisor, streamer."""

from __future__ import annotations

import time
from datetime import date

import numpy as np
import pytest

from enpire.environment.hardware.cell import HardwareCell
from enpire.errors import DriverError, SafetyError, UsageError
from enpire.safety.machine import Mode
from enpire.safety.messages import SupervisorStatus
from enpire.safety.permit import Permit, write_passed
from enpire.safety.rules import GateRule
from tests.simulation.running import simulated, written

PERIOD = 0.04
PATIENCE_S = 60.0


@pytest.fixture
def station(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    found = written(tmp_path, "left", "twin")
    write_passed(found, date.today(), ())
    return found


def passing(cell: HardwareCell, setpoint: np.ndarray) -> SupervisorStatus:
    """What it says a period later."""
    seen: list[SupervisorStatus] = []
    end = time.monotonic() + PATIENCE_S
    while not seen and time.monotonic() < end:
        cell.send_setpoint(setpoint, lambda status, objects: seen.append(status))
    return seen[-1]


def ready(cell: HardwareCell) -> np.ndarray:
    """Armed; what it was sent last."""
    status = passing(cell, np.zeros(6))
    cell.again()
    while not cell.ready():
        status = passing(cell, status.sent)
    return cell.client.status().sent.copy()


@pytest.mark.slow
def test_setpoints_move_the_arm_a_pause_rests_it_and_an_emergency_stop_stops_it(station) -> None:
    with simulated(station) as process:
        cell = HardwareCell(station, Permit.MOTION, PERIOD)
        try:
            cell.begin()
            for _ in range(10):  # on a busy machine a heartbeat may lapse: then from there again
                sent = ready(cell)
                goal = sent + 0.2 * np.eye(6)[0]
                for k in range(25):
                    passing(cell, sent + (goal - sent) * min(1.0, (k + 1) / 20))
                if cell.stop is None:
                    break
                cell.begin()
            assert cell.stop is None
            assert passing(cell, goal).measured[0] == pytest.approx(goal[0], abs=0.02)
            end = time.monotonic() + PATIENCE_S
            while cell.client.status().mode is not Mode.ARMED and time.monotonic() < end:
                time.sleep(PERIOD)  # nobody says a word: the arms come to rest, and nothing lapses
            assert cell.client.status().mode is Mode.ARMED
            assert cell.stop is None
            cell.supervision.ask("emergency")
            while cell.stop is None:
                passing(cell, goal)
            assert cell.stop.lost
            assert cell.stop.asked
            assert cell.stop.rules & GateRule.EMERGENCY
            cell.begin()
            with pytest.raises(SafetyError, match="station clear"):
                cell.ready()
            process.kill()
            assert [reason for _, reason in cell.new_events][-1] == "stopped: emergency"
            with pytest.raises(DriverError, match="simulated station"):
                cell.wire.set_initial_state(np.zeros(10))
        finally:
            cell.close()


def test_a_station_without_a_tracker_or_without_its_simulation_is_no_station(station) -> None:
    with pytest.raises(DriverError, match="station sim left"):
        HardwareCell(station, Permit.DRY, PERIOD)
    mock = written(station.path.parent, "mock", "mock")
    with pytest.raises(UsageError, match="nothing that says where objects are"):
        HardwareCell(mock, Permit.DRY, PERIOD)
