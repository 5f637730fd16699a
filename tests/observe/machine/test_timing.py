"""Rights, pace and clock, as the kernel says them."""

from __future__ import annotations

import ctypes
import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from enpire.observe.machine import CheckState, timing
from enpire.safety.jitter import Jitter


def test_rights_are_tried_and_leave_this_process_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    before = os.sched_getscheduler(0)
    assert timing.real_time().state in (CheckState.GOOD, CheckState.NOTE)
    assert os.sched_getscheduler(0) == before

    def refused(*_: Any) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "sched_setscheduler", refused)
    assert "rtprio" in timing.real_time().remedy


@pytest.mark.parametrize(("p99", "state"), [(1e-4, CheckState.GOOD), (3e-3, CheckState.NOTE)])
def test_late_periods_are_told(
    monkeypatch: pytest.MonkeyPatch, p99: float, state: CheckState
) -> None:
    monkeypatch.setattr(timing, "measure", lambda *_: Jitter(500, 1e-5, p99, p99, p99))
    assert timing.pace().state is state


@pytest.mark.parametrize(
    ("source", "answer", "state", "said"),
    [
        ("tsc", 0, CheckState.GOOD, "within"),
        ("tsc", timing.UNSYNCHRONISED, CheckState.NOTE, "nothing keeps it right"),
        ("tsc", -1, CheckState.NOTE, "nothing keeps it right"),
        ("hpet", 0, CheckState.NOTE, "hpet"),
    ],
)
def test_a_clock_that_nobody_keeps_is_told(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    source: str,
    answer: int,
    state: CheckState,
    said: str,
) -> None:
    (tmp_path / "source").write_text(f"{source}\n")
    monkeypatch.setattr(timing, "CLOCK_SOURCE", tmp_path / "source")
    monkeypatch.setattr(ctypes, "CDLL", lambda *_, **__: SimpleNamespace(adjtimex=lambda _: answer))
    check = timing.clock()
    assert check.state is state
    assert said in check.found
