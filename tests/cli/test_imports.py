"""Verbs that only read a run load none of what acts or learns: they are there at once."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.evolution.finished import finish
from tests.observe.report.ledgers import write_run

pytestmark = pytest.mark.medium

CODE = (
    "import sys; from enpire.cli import main; code = main(sys.argv[2:]);"
    "print('loaded', *[name for name in sys.argv[1].split() if name in sys.modules]);"
    "sys.exit(code)"
)


def _loaded(names: str, *argv: str) -> list[str]:
    """Return which of some modules a verb has loaded when it is done."""
    command = [sys.executable, "-c", CODE, names, *argv]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()[-1].split()[1:]


def test_who_looks_at_runs_waits_for_no_simulator(tmp_path: Path) -> None:
    write_run(tmp_path / "run").close()
    for verb, what in (("list", tmp_path), ("show", tmp_path / "run")):
        assert _loaded("torch mujoco numba lerobot", verb, str(what)) == [], verb


def test_a_report_waits_for_no_network_of_weights(tmp_path: Path) -> None:
    write_run(tmp_path / "run").close()
    assert _loaded("torch lerobot", "report", str(tmp_path / "run")) == []


def test_nor_does_that_of_a_campaign(tmp_path: Path) -> None:
    finish(tmp_path / "campaign")
    assert _loaded("torch lerobot", "report", str(tmp_path / "campaign")) == []
