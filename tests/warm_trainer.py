"""One training process for the loops of many tests.

Each loop starts a process that trains, which imports torch for some three seconds. It serves all
rounds of a run; here it serves several runs, if it would inherit the same again.
`tests/improvement/test_training_process.py` has processes of its own.
"""

from __future__ import annotations

import os
import subprocess
from typing import IO

from enpire.child_environment import child_environment
from enpire.child_process import end_child
from enpire.improvement import training_process

Surroundings = tuple[str, dict[str, str]]  # folder and variables
OWN = "PYTEST_CURRENT_TEST"  # which pytest sets anew for each test

_idle: list[tuple[Surroundings, subprocess.Popen[str], IO[str]]] = []  # and what it wrote


def _surroundings() -> Surroundings:
    return os.getcwd(), {k: v for k, v in child_environment().items() if k != OWN}


class WarmTrainer(training_process._Worker):
    """A training process that waits for the next test instead of ending, unless it is at work."""

    def __init__(self) -> None:
        self._begun_in, self._kept = _surroundings(), False
        while _idle:
            surroundings, process, unlogged = _idle.pop()
            if surroundings == self._begun_in and process.poll() is None:
                self._process, self._unlogged = process, unlogged
                self._answer, self._listener = None, None
                return
            end_child(process, None, unlogged)
        super().__init__()

    def cancel(self) -> None:
        if self._kept:
            return
        if not self.usable or _idle:
            super().cancel()
            return
        self._kept = True
        _idle.append((self._begun_in, self._process, self._unlogged))
