"""Checks that may end the process they run in, so they get one of their own."""

from __future__ import annotations

import subprocess
import sys

from enpire.child_environment import child_environment

PATIENCE_S = 60.0


def run_apart(script: str) -> tuple[bool, str]:
    """Whether a script ended well, and the last line that it printed."""
    try:
        ended = subprocess.run(
            [sys.executable, "-c", script],
            capture_output=True,
            text=True,
            errors="replace",
            timeout=PATIENCE_S,
            env=child_environment(),
        )
    except subprocess.TimeoutExpired:
        return False, f"no answer within {PATIENCE_S:g} s"
    good = ended.returncode == 0
    lines = (ended.stdout if good else ended.stdout + ended.stderr).strip().splitlines()
    return good, lines[-1] if lines else f"exit code {ended.returncode}"
