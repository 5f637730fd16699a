"""What a loop shows while it runs."""

from __future__ import annotations

import io
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from rich.console import Console

from enpire.observe import progress
from enpire.observe.progress import Progress, clock
from enpire.observe.sparkline import sparkline
from enpire.observe.status import FRESH_S, read_status, status_of, write_status
from enpire.rollout.evaluation.statistics import estimate
from enpire.rollout.fleet.fleet import Fleet
from enpire.rollout.fleet.station_state import StationState
from enpire.rollout.loop.budget import Budget
from enpire.rollout.loop.state import LoopState
from enpire.store import LogEntry, RoundRow, Run
from enpire.store.layout import STATUS

SETTINGS = {"loop": {"target": 0.9}}
STATIONS = SimpleNamespace(verified_by="sensors only")


def _shown(tmp_path: Path, terminal: bool) -> tuple[str, int]:
    out = io.StringIO()
    console = Console(file=out, force_terminal=terminal, width=240, highlight=False)
    state = LoopState("collecting", 2, "policy-1", estimate(150, 200), 30, 400)
    saved: list[int] = []
    fleet = cast(Fleet, SimpleNamespace(robot_s=5400.0, stations=STATIONS, states=[]))
    state.deciding = "policy-2 against policy-1: better on 3"
    with Run.create(tmp_path / "run", SETTINGS) as run:
        run.ledger.add_decision(LogEntry(1, "kept", "an old decision"))
        run.ledger.put_round(RoundRow(1, "policy-1", 40, 80))
        budget = Budget(wall_s=1800.0, robot_s=7200.0)
        with Progress(run, state, fleet, budget, lambda: saved.append(1), console) as shown:
            run.ledger.add_decision(LogEntry(2, "promoted", "better on [12] seeds"))
            shown.say("hello")
    return out.getvalue(), len(saved)


def test_plain_lines_say_where_the_loop_is(tmp_path: Path) -> None:
    text, saved = _shown(tmp_path, terminal=False)
    lines = text.splitlines()
    assert sum("promoted: better on [12] seeds" in line for line in lines) == 1
    assert not any("an old decision" in line for line in lines)
    (line,) = [line for line in lines if "collecting 30/400" in line]
    for words in (
        "round 2",
        "0.750 [0.684, 0.808] of 200",
        "deciding policy-2 against policy-1: better on 3",
        "target 0.9",
        "robot 1.50 of 2 h",
        "left 30:00",
        "by sensors only",
    ):
        assert words in line
    assert "\x1b" not in text
    assert saved >= 1


@pytest.mark.parametrize("terminal", [False, True])
def test_programs_get_the_same_as_events(tmp_path: Path, terminal: bool) -> None:
    console = Console(file=io.StringIO(), force_terminal=terminal)
    state = LoopState("collecting", 2, "policy-1", estimate(150, 200), 30, 400)
    fleet = cast(Fleet, SimpleNamespace(robot_s=5400.0, stations=STATIONS, states=[]))
    events: list[Mapping[str, Any]] = []
    with (
        Run.create(tmp_path / "run", SETTINGS) as run,
        Progress(run, state, fleet, Budget(), lambda: None, console, events.append),
    ):
        run.ledger.add_decision(LogEntry(2, "kept", "no better", "a", "b", {"wins": 1}))
    (decision,) = [event for event in events if event["event"] == "decision"]
    assert (decision["candidate"], decision["numbers"]) == ("b", {"wins": 1.0})
    (progress,) = [event for event in events if event["event"] == "progress"]
    assert (progress["doing"], progress["done"], progress["planned"]) == ("collecting", 30, 400)
    assert (progress["success"], progress["n"], progress["robot_hours"]) == (0.75, 200, 1.5)


def test_what_a_loop_does_stands_in_a_file_while_it_runs(tmp_path: Path) -> None:
    stations = [StationState(0, "running", 2.5, "e-7", "evaluation", "policy-2")]
    fleet: Any = SimpleNamespace(robot_s=0.0, stations=STATIONS, states=stations)
    state = LoopState("comparing", 2, "policy-1", estimate(150, 200), 30, 400, deciding="a or b")
    with Run.create(tmp_path / "run", {}) as run:
        with Progress(run, state, fleet, Budget(), lambda: None, Console(file=io.StringIO())) as on:
            on._show(last=False)
            status = read_status(run.folder)
        assert status is not None
        assert (status.doing, status.done, status.deciding) == ("comparing", 30, "a or b")
        assert status.stations == tuple(stations)
        assert read_status(run.folder) is None


def test_an_old_status_and_one_that_is_none_count_as_none(tmp_path: Path) -> None:
    status = status_of(LoopState(), [])
    write_status(tmp_path, status)
    assert read_status(tmp_path) == status
    write_status(tmp_path, replace(status, at=status.at - FRESH_S))
    assert read_status(tmp_path) is None
    (tmp_path / STATUS).write_text("[1]")
    assert read_status(tmp_path) is None


def test_terminal_gets_a_live_table(tmp_path: Path) -> None:
    text, _ = _shown(tmp_path, terminal=True)
    assert "\x1b" in text
    assert "30/400" in text
    assert f"{sparkline([0.5, 0.75])}  0.750" in text


def test_time_is_left_until_the_first_budget_is_used_up(tmp_path: Path) -> None:
    fleet: Any = SimpleNamespace(robot_s=0.0, stations=STATIONS, states=[])
    with Run.create(tmp_path / "run", {}) as run:
        budget = Budget(wall_s=10_000.0, robot_s=3600.0)
        shown = Progress(run, LoopState(), fleet, budget, lambda: None, Console(file=io.StringIO()))
        assert shown._time_left().startswith("2:46:")
        fleet.robot_s, budget.started = 1200.0, budget.started - 600.0
        assert shown._time_left() == "about 20:00, until robot time is used up"


def test_a_sparkline_is_as_high_as_its_rates() -> None:
    assert sparkline([0.0, 0.5, 1.0]) == "▁▅█"
    assert sparkline([]) == ""
    assert sparkline([0.0, 1.0, 1.0], most=2) == "██"


def test_same_step_gets_a_line_now_and_then_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 1000.0
    monkeypatch.setattr(progress.time, "monotonic", lambda: now)
    out = io.StringIO()
    state = LoopState("collecting", 1)
    fleet: Any = SimpleNamespace(robot_s=0.0, stations=STATIONS, states=[])
    with Run.create(tmp_path / "run", {}) as run:
        shown = Progress(run, state, fleet, Budget(), lambda: None, Console(file=out))
        for _ in range(5):
            shown._show(last=False)
        assert out.getvalue().count("collecting") == 1
        now += progress.LINE_S
        shown._show(last=False)
        assert out.getvalue().count("collecting") == 2
        state.doing = "training (bc)"
        shown._show(last=False)
        assert out.getvalue().count("training") == 1


@pytest.mark.parametrize(("seconds", "text"), [(0.2, "0:00"), (83, "1:23"), (5025, "1:23:45")])
def test_clock(seconds: float, text: str) -> None:
    assert clock(seconds) == text
