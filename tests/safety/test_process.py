"""The supervisor as a process of its own, and policies as others, that die, freeze and err."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import date, timedelta

import numpy as np
import pytest

from benchmarks import safety as bench
from enpire.cli import main
from enpire.errors import SafetyError, StoreError, UsageError
from enpire.safety.client import GONE_S, StationClient
from enpire.safety.launch import Supervision
from enpire.safety.machine import Mode
from enpire.safety.permit import Permit, permit, write_passed
from enpire.safety.process import SupervisorProcess
from enpire.safety.rules import GateRule
from enpire.safety.setpoint_follower import EVERY_S, SetpointFollower
from tests.processes import gone

pytestmark = pytest.mark.medium

SOON_S = 1.0  # generous: how soon is measured by `enpire bench safety`, not on a busy machine


@pytest.fixture
def station(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    return bench.station(tmp_path)


def wait(client: StationClient, *modes: Mode) -> Mode:
    """Wait until the supervisor says one of `modes`; a busy machine may keep it from saying any."""
    end = time.monotonic() + bench.WAIT_S
    while time.monotonic() < end:
        with suppress(SafetyError):
            if (mode := client.status().mode) in modes:
                return mode
        time.sleep(0.002)
    raise SafetyError(f"the supervisor was in none of {modes} in time")


def patiently[T](work: Callable[[], T]) -> T:
    """Do it again where a busy machine kept a supervisor or its driver from their work."""
    for _ in range(19):
        with suppress(SafetyError):
            return work()
    return work()


def test_every_fault_of_a_policy_stops_the_station_and_is_recorded(station) -> None:
    def measure() -> bench.Measured:
        found = bench.measure(station, trials=1, seconds=0.3, seed=0)
        if late := [row.fault for row in found.rows if row.delays[0] >= SOON_S]:
            raise SafetyError(f"late to stop: {late}")
        return found

    measured = patiently(measure)
    assert [row.fault for row in measured.rows] == list(bench.KINDS)
    assert all(row.delays[0] >= 0 for row in measured.rows)
    assert len(list(station.records.glob("*.npz"))) >= len(bench.KINDS)
    assert "| killed | 1 |" in measured.markdown()


def test_setpoints_are_followed_and_whoever_tells_them_may_be_held_up(station) -> None:
    way = np.concatenate([np.linspace(0, 0.02, 10), np.linspace(0.02, 0.04, 10)])
    with Supervision(station, Permit.MOTION) as supervision:
        client = StationClient(supervision.folder)

        def follow() -> float:
            """Carry all setpoints out; returns how far the arm has moved [rad]."""
            supervision.ask("episode")
            supervision.ask("arm" if client.status().mode is Mode.IDLE else "recover")
            wait(client, Mode.ARMED)
            following = SetpointFollower(station, client)
            start = client.status().sent
            try:
                for number, away in enumerate(way):
                    following.go(start + away * np.eye(7)[1])
                    time.sleep(0.5 if number == 9 else EVERY_S)
                following.rest()
            finally:
                following.close()
                ended = wait(client, Mode.ARMED, Mode.HOLDING)
            assert ended is Mode.ARMED
            return float(client.status().measured[1] - start[1])

        assert patiently(follow) == pytest.approx(0.04, abs=1e-3)


def test_a_policy_whose_station_has_stopped_already_errs_no_more(station) -> None:
    """It says so at once, later than the stop: such a trial does not count."""
    with Supervision(station, Permit.MOTION) as supervision:
        client, policy = (
            StationClient(supervision.folder),
            bench.FaultyPolicyProcess(supervision.folder),
        )
        try:
            bench._ready(supervision, client)
            policy.say("go")
            supervision.ask("stop")
            wait(client, Mode.HOLDING)
            assert policy.fail("nan") > client.status().stopped
        finally:
            policy.end()


def test_it_holds_and_ends_with_its_owner(station) -> None:
    owner = subprocess.Popen(
        [
            sys.executable,
            "-c",
            "import sys, pathlib, time\n"
            "from enpire.safety.launch import Supervision\n"
            "from enpire.safety.station import load_station\n"
            "s = Supervision(load_station(pathlib.Path(sys.argv[1])), 'dry')\n"
            "s.ask('park'); print(s.process.pid, flush=True); time.sleep(600)",
            str(station.path),
        ],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert owner.stdout is not None
    pid = int(owner.stdout.readline())
    os.kill(pid, 0)
    owner.kill()
    owner.communicate()
    assert gone(pid), "it outlives its owner"


def test_a_supervisor_that_is_killed_is_missed_and_another_takes_its_place(station) -> None:
    supervision = Supervision(station, Permit.DRY)
    client = StationClient(supervision.folder)
    wait(client, *Mode)
    supervision.process.kill()
    supervision.process.wait()
    time.sleep(GONE_S)
    with pytest.raises(SafetyError, match="nothing for a while"):
        client.status()
    with pytest.raises(SafetyError):
        supervision.ask("park")
    with Supervision(station, Permit.DRY) as again:
        wait(StationClient(again.folder), *Mode)


def test_a_station_has_one_supervisor(station) -> None:
    first = Supervision(station, Permit.DRY)
    with pytest.raises(SafetyError, match="another supervisor or check"):
        Supervision(station, Permit.DRY)
    assert main(["station", "check", str(station.path)]) == 1
    first.close()
    Supervision(station, Permit.DRY).close()


def test_a_dry_run_sends_nothing_and_shows_it(station, capfd) -> None:
    with Supervision(station, Permit.DRY) as supervision:
        client = StationClient(supervision.folder)
        supervision.ask("park")
        assert wait(client, Mode.IDLE, Mode.HOLDING) is Mode.IDLE
    assert "[" in capfd.readouterr().err


def test_stop_latches_and_a_person_clears_it_at_a_terminal(station, capsys) -> None:
    path = str(station.path)
    with Supervision(station, Permit.MOTION) as supervision:
        client = StationClient(supervision.folder)
        said = station.path.read_text()
        station.path.write_text("somebody is editing it")
        assert main(["station", "stop", path]) == 0
        wait(client, Mode.LATCHED)
        station.path.write_text(said)
        assert main(["station", "clear", path]) == 1
        assert "at a terminal" in capsys.readouterr().err
        with pytest.raises(SafetyError, match="clear"):
            supervision.ask("arm")
        assert _typed(path, "yes") == 1
        assert client.status().mode is Mode.LATCHED
        assert _typed(path, "mock") == 0
        wait(client, Mode.HOLDING)
        assert GateRule.EMERGENCY in client.status().rules


def _typed(path: str, text: str) -> int:
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "enpire.cli", "station", "clear", path]
    process = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs)
    os.close(theirs)
    os.write(ours, f"{text}\n".encode())
    code = process.wait(60)
    os.close(ours)
    return code


def test_no_motion_without_a_word_and_a_check_of_the_day(station) -> None:
    today = date(2026, 3, 2)
    write_passed(station, today, ("all good",))
    assert permit(station, True, False, today) is Permit.MOTION
    assert permit(station, False, True, today) is Permit.DRY
    for both in (True, False):
        with pytest.raises(UsageError, match="--confirm-motion"):
            permit(station, both, both, today)
    with pytest.raises(SafetyError, match="2026-03-02, not today"):
        permit(station, True, False, today + timedelta(1))
    station.path.write_text(station.path.read_text() + "\n# a remark\n")
    with pytest.raises(SafetyError, match="changed since"):
        permit(bench.load_station(station.path), True, False, today)
    station.passed.write_text("{}")
    with pytest.raises(StoreError, match="no record"):
        permit(station, True, False, today)
    station.passed.unlink()
    with pytest.raises(SafetyError, match="not been checked"):
        permit(station, True, False, today)


def test_a_runtime_folder_open_to_others_is_refused(station) -> None:
    station.runtime.mkdir(mode=0o777)
    station.runtime.chmod(0o777)
    with pytest.raises(SafetyError, match="open to others"):
        SupervisorProcess(station, bench.build("mock", station.robot, time.monotonic_ns))
