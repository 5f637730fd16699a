"""Help for stations that were set aside: real commands, and what is made of how they end."""

from __future__ import annotations

from pathlib import Path

import pytest

from enpire.errors import UsageError
from enpire.rollout.fleet.recovery import HelpCall, Recovery
from tests.processes import LONG_S, gone, waiting


def helped(command: str, limit_s: float = LONG_S) -> HelpCall:
    with Recovery(command, limit_s, "pick_cube") as recovery:
        recovery.call(3, "cube lost; 'off' the bench")
        assert recovery.under_way
        (found,) = recovery.take_ended(LONG_S)
        assert not recovery.under_way
    return found


def test_a_command_is_told_which_station_and_why(tmp_path: Path) -> None:
    told = tmp_path / "told"
    found = helped(f'printf "%s|%s|%s" "$ENPIRE_STATION" "$ENPIRE_REASON" "$ENPIRE_TASK" > {told}')
    assert (found.station, found.came) == (3, True)
    assert told.read_text() == "3|cube lost; 'off' the bench|pick_cube"


@pytest.mark.parametrize(
    ("command", "said"),
    [("echo warming up; echo no hands free >&2; exit 3", "exited with 3"), ("cat", "")],
)
def test_how_it_ended_is_said(command: str, said: str) -> None:
    found = helped(command)
    assert found.came is (command == "cat"), "and nobody waits for its input"
    assert said in found.said
    assert ("its last words: no hands free" in found.said) is not found.came


def test_a_command_that_takes_too_long_ends_with_all_that_it_started(tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    found = helped(f"sleep 600 & echo $! > {pid}; wait", limit_s=0.5)
    assert not found.came
    assert "was ended after 0.5 s" in found.said
    assert gone(int(pid.read_text()))


def test_what_is_under_way_at_the_end_is_ended(tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    with Recovery(f"echo $$ > {pid}.new; mv {pid}.new {pid}; sleep 600", LONG_S, "t") as recovery:
        recovery.call(0, "")
        assert any(pid.exists() for _ in waiting())
        assert recovery.take_ended() == []
    assert gone(int(pid.read_text()))


def test_an_empty_command_is_refused() -> None:
    with pytest.raises(UsageError, match="--recover is empty"):
        Recovery(" ", LONG_S, "t")
