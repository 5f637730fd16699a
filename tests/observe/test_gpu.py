"""How busy GPUs were, from what the driver says."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from enpire.observe import account, gpu
from enpire.store import Run


def test_a_run_counts_on_from_its_earlier_starts(tmp_path: Path) -> None:
    seen = iter([[0.5, 1.0], [0.0, 0.5]])
    done = threading.Event()

    def look() -> list[float]:
        found = next(seen, None)
        if found is None:
            done.set()
        return found or []

    with gpu.GpuMonitor({"gpu_samples": "2", "gpu_busy": "0.4"}, 0.0, look) as watch:
        assert done.wait(60.0)
    assert watch.busy == pytest.approx((0.4 + 2.0) / 6)
    with Run.create(tmp_path / "run", {"loop": {}}) as run:
        assert account.gpu_use(run.ledger) is None
        run.ledger.set_facts(watch.facts)
        assert account.gpu_use(run.ledger) == pytest.approx((0.4 + 2.0) / 6)


def test_where_there_is_no_gpu_nothing_is_said() -> None:
    with gpu.GpuMonitor({}, 0.0, list) as watch:
        pass
    assert watch.facts == {}
    assert watch.busy is None
    assert account.gpu_text(None) == "no GPU"


def test_what_the_driver_does_not_say_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / gpu.PROGRAM
    program.write_text("#!/bin/sh\nprintf '37\\n[N/A]\\n100\\n'\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    assert gpu.look() == [0.37, 1.0]
    program.write_text("#!/bin/sh\nexit 9\n")
    assert gpu.look() == []
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    assert gpu.look() == []
