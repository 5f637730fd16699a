"""What a loop shows while it runs."""

from __future__ import annotations

import io
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from rich.console import Console

from enpire.observe import progress
from enpire.observe.progress import Progress, clock
from enpire.rollout.budget import Budget
from enpire.rollout.fleet import Fleet
from enpire.rollout.loop import LoopState
from enpire.rollout.statistics import estimate
from enpire.store import Decision, Run

STATIONS = SimpleNamespace(verified_by="sensors only")


def _shown(tmp_path: Path, terminal: bool) -> tuple[str, int]:
    out = io.StringIO()
    console = Console(file=out, force_terminal=terminal, width=160, highlight=False)
    state = LoopState("collecting", 2, "policy-1", estimate(150, 200), 30, 400)
    saved: list[int] = []
    fleet = cast(Fleet, SimpleNamespace(robot_s=5400.0, stations=STATIONS))
    with Run.create(tmp_path / "run", {}) as run:
        run.ledger.add_decision(Decision(1, "kept", "an old decision"))
        budget = Budget(wall_s=1800.0)
        with Progress(run, state, fleet, budget, lambda: saved.append(1), console) as shown:
            run.ledger.add_decision(Decision(2, "promoted", "better on [12] seeds"))
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
        "robot 1.50 h",
        "left 30:00",
        "by sensors only",
    ):
        assert words in line
    assert "\x1b" not in text
    assert saved >= 1


def test_terminal_gets_a_live_table(tmp_path: Path) -> None:
    text, _ = _shown(tmp_path, terminal=True)
    assert "\x1b" in text
    assert "30/400" in text


def test_same_step_gets_a_line_now_and_then_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 1000.0
    monkeypatch.setattr(progress.time, "monotonic", lambda: now)
    out = io.StringIO()
    state = LoopState("collecting", 1)
    fleet: Any = SimpleNamespace(robot_s=0.0, stations=STATIONS)
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
