"""Pages that a script makes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def page_of(script: str) -> str:
    """Return the page of `launch/<script>.py` as it makes it now, without a person's packs."""
    code = (
        f"import sys; sys.path.insert(0, 'launch'); import {script} as s; print(s.page(), end='')"
    )
    return subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env={"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin"},
        check=True,
        capture_output=True,
        text=True,
    ).stdout
