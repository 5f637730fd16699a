"""This program run once more: what it printed, and that it is ended in order."""

from __future__ import annotations

import math
import threading
import time
from pathlib import Path

import pytest

from enpire.cli.helpers.children import Children
from enpire.store.lock import WriterLock


def test_what_it_printed_and_its_log(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with Children() as children:
        assert "enpire" in (children.run(["--version"], "one", tmp_path / "log.txt") or "")
        assert children.run(["nothing_such"], "two", tmp_path / "log.txt") is None
    assert "two: enpire nothing_such ended with 2" in capsys.readouterr().out
    assert (tmp_path / "log.txt").read_text().startswith("$ enpire --version\n")


def test_nothing_begins_when_time_is_up(tmp_path: Path) -> None:
    with Children(time.monotonic() - 1.0) as children:
        assert children.run(["--version"], "late", tmp_path / "log.txt") is None
    assert not (tmp_path / "log.txt").exists()


def test_what_takes_too_long_is_ended(tmp_path: Path) -> None:
    began = time.monotonic()
    with Children(began + 0.5) as children:
        assert children.run(["bench", "statistics"], "long", tmp_path / "log.txt") is None
        assert (tmp_path / "log.txt").exists()
        children.stop()
        assert children.run(["--version"], "late", tmp_path / "late.txt") is None
    assert time.monotonic() - began < 30.0
    assert not (tmp_path / "late.txt").exists()


def test_who_is_stopped_waits_for_nobody(tmp_path: Path) -> None:
    lock = WriterLock(tmp_path / "writer.lock")
    with Children(math.inf) as children:
        threading.Timer(0.1, children.stop).start()
        assert not children.alone(tmp_path)
        lock.release()
        assert children.alone(tmp_path)
