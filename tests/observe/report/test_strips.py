"""How long a report may take over its film strips."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from enpire.observe.report import strips
from enpire.observe.report.strips import GRACE_S, PATIENCE_S, StripAllowance


@pytest.mark.parametrize(
    ("processor_s", "clock_s", "over", "over_with_grace"),
    [
        (0.0, 0.0, False, False),
        (0.1, PATIENCE_S - 1.0, False, False),  # a busy machine has the same strips
        (2.0, 2.0, True, False),
        (2.0 + GRACE_S, 4.0, True, True),
        (0.1, PATIENCE_S, True, False),
        (0.1, PATIENCE_S + GRACE_S, True, True),
    ],
)
def test_time_is_the_processor_s_up_to_some_patience(
    processor_s: float,
    clock_s: float,
    over: bool,
    over_with_grace: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = SimpleNamespace(process_time=lambda: 7.0, monotonic=lambda: 70.0)
    monkeypatch.setattr(strips, "time", now)
    allowed = StripAllowance(2.0)
    now.process_time, now.monotonic = lambda: 7.0 + processor_s, lambda: 70.0 + clock_s
    assert allowed.used_up() == over
    assert allowed.used_up(GRACE_S) == over_with_grace
