"""A run's folder gets the first free name."""

from __future__ import annotations

from datetime import date
from pathlib import Path

from enpire.store import default_folder


def test_default_folder_is_the_first_free_one(tmp_path: Path) -> None:
    day = date(2026, 1, 2)
    assert default_folder("zip_tie", tmp_path, day) == tmp_path / "20260102-zip_tie-1"
    (tmp_path / "20260102-zip_tie-1").mkdir()
    assert default_folder("zip_tie", tmp_path, day) == tmp_path / "20260102-zip_tie-2"
