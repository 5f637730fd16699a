"""What LeRobot's libraries draw on the terminal meanwhile."""

from __future__ import annotations

import os


def leave_bars_out() -> None:
    """Have no progress bars drawn; before LeRobot is imported."""
    os.environ.setdefault("TQDM_DISABLE", "1")
