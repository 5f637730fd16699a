"""Children that are ended, and the pipes to them."""

from __future__ import annotations

import subprocess
import sys
from threading import Thread

import pytest

from enpire import child_process
from enpire.child_process import end_child

WAITS = "import sys; sys.stdin.read()"
LEAVES_ONE = "import subprocess; subprocess.Popen(['sleep', '2']).wait()"


def begun(program: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )


def heard(child: subprocess.Popen[str]) -> Thread:
    assert child.stdout is not None
    thread = Thread(target=child.stdout.readlines, daemon=True)
    thread.start()
    return thread


@pytest.mark.parametrize("listened", [True, False])
def test_no_pipe_stays_open(listened: bool) -> None:
    child = begun(WAITS)
    assert child.stdin is not None
    assert child.stdout is not None
    end_child(child, heard(child) if listened else None)
    assert child.returncode == -9
    assert child.stdin.closed
    assert child.stdout.closed


def test_what_a_child_never_read_is_no_error() -> None:
    child = begun("pass")
    assert child.stdin is not None
    child.wait()
    child.stdin.write("told too late")
    end_child(child, heard(child))
    assert child.stdin.closed


def test_a_process_of_the_childs_may_hold_the_output(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(child_process, "HEARD_S", 0.05)
    child = begun("print('up', flush=True);" + LEAVES_ONE)
    assert child.stdout is not None
    assert child.stdout.readline() == "up\n"
    listener = heard(child)
    end_child(child, listener)
    assert child.returncode == -9
    assert child.stdin is None or child.stdin.closed
