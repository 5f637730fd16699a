"""One training process for the loops of many tests.

Each loop starts a process that trains, which imports torch for some three seconds. It serves all
rounds of a run; here it serves several runs, and goes to the folder and takes the variables that
each would inherit. `tests/improvement/test_training_process.py` has processes of its own.
"""

from __future__ import annotations

import json
import os
import subprocess
from typing import IO
from unittest import mock

from enpire.child_environment import child_environment
from enpire.child_process import end_child
from enpire.improvement import training_process

_idle: list[tuple[subprocess.Popen[str], IO[str]]] = []  # and what it wrote


def _follows(process: subprocess.Popen[str]) -> bool:
    """Have a process work where this one is; False: it is gone."""
    there = {"folder": os.getcwd(), "variables": child_environment()}
    try:
        assert process.stdin is not None
        process.stdin.write(json.dumps(there) + "\n")
        process.stdin.flush()
    except BrokenPipeError:
        return False
    return process.poll() is None


class WarmTrainer(training_process._Worker):
    """A training process that waits for the next test instead of ending, unless it is at work."""

    def __init__(self) -> None:
        self._kept = False
        while _idle:
            self._process, self._unlogged = _idle.pop()
            self._answer, self._listener = None, None
            if _follows(self._process):
                return
            end_child(self._process, None, self._unlogged)
        with mock.patch.object(training_process, "WORKER", "tests.warm_worker"):
            super().__init__()

    def cancel(self) -> None:
        if self._kept:
            return
        if not self.usable or _idle:
            super().cancel()
            return
        self._kept = True
        _idle.append((self._process, self._unlogged))
