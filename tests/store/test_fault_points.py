"""Whatever write of a run fails, there is one message, and the run goes on when room returns."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from enpire.cli import main
from enpire.errors import StoreError
from enpire.store import LogEntry, Run
from enpire.store.fault_points import VARIABLE, fault_point, passed
from enpire.store.fsck import check
from tests.store.samples import episode

FAULTS = ("ENOSPC", "EIO", "EMFILE", "EROFS", "MemoryError")


@pytest.fixture(autouse=True)
def _from_the_start() -> Iterator[None]:
    passed(reset=True)
    yield
    passed(reset=True)


def _write(run: Run) -> None:
    """All kinds of writes; those that are there already are left out."""
    if not run.ledger.known(["b"]):
        run.add_episodes([episode("b"), episode("c")])
    if run.ledger.policy("q") is None:
        run.save_policy("q", {"w": np.ones(3)}, {})
    run.ledger.set_policy_state("q", "incumbent")
    run.ledger.add_decision(LogEntry(1, "promoted", "q"))
    run.write_result({"success": 1.0})


def _made(folder: Path) -> Path:
    with Run.create(folder, {}) as run:
        run.add_episodes([episode("a")])
    return folder


def _points(folder: Path, monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setenv(VARIABLE, "*:0:kill")
    passed(reset=True)
    with Run.open(_made(folder), writable=True) as run:
        passed(reset=True)
        _write(run)
        return passed()  # not those of the seal, which closing writes


@pytest.mark.medium
@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("lasting", ["", "+"])
def test_every_write_may_fail_in_every_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: str, lasting: str
) -> None:
    points = _points(tmp_path / "count", monkeypatch)
    assert points > 20
    for number in range(1, points + 1):
        monkeypatch.delenv(VARIABLE)
        run = Run.open(_made(tmp_path / f"{number}"), writable=True)
        passed(reset=True)
        monkeypatch.setenv(VARIABLE, f"*:{number}{lasting}:{fault}")
        with pytest.raises((StoreError, MemoryError)) as raised:
            _write(run)
        assert fault == "MemoryError" or isinstance(raised.value, StoreError)
        run.close()
        monkeypatch.delenv(VARIABLE)
        with Run.open(run.folder, writable=True) as again:
            _write(again)
            assert [row.id for row in again.ledger.episodes()] == ["a", "b", "c"]
        assert not check(run.folder).damage, number
        assert not list(run.folder.rglob(".tmp-*"))
        monkeypatch.setenv(VARIABLE, "*:0:kill")


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        ("ENOSPC", "the disk is full"),
        ("EIO", "check the disk"),
        ("EMFILE", "ulimit"),
        ("EROFS", "permissions"),
    ],
)
def test_the_message_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: str, said: str
) -> None:
    with Run.create(tmp_path / "run", {}) as run:
        for name in ("written", "renamed", "commit"):
            monkeypatch.setenv(VARIABLE, f"{name}:1:{fault}")
            passed(reset=True)
            with pytest.raises(StoreError, match=said):
                run.save_policy(f"p-{name}", {"w": np.ones(3)}, {})
            monkeypatch.delenv(VARIABLE)


def test_a_command_without_memory_says_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def full(*_: object) -> int:
        raise MemoryError

    monkeypatch.setattr("enpire.cli.command_line._run", full)
    assert main(["list"]) == 1
    assert capsys.readouterr().err.count("\n") == 1


def test_a_point_acts_at_its_pass_alone_and_without_the_variable_never(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    fault_point("write")
    assert passed() == 0
    monkeypatch.setenv(VARIABLE, "write:2:EIO")
    fault_point("commit")
    fault_point("write")
    with pytest.raises(OSError, match=os.strerror(errno.EIO)):
        fault_point("write")

    fault_point("write")
