"""The page of verbs is what the parser says today."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from enpire.cli.verbs import VERBS

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "reference" / "verbs.md"


@pytest.fixture(scope="module")
def made() -> str:
    """Return the page as the script makes it now, in a process without a person's packs."""
    code = "import sys; sys.path.insert(0, 'launch'); import generate_verbs as g; print(g.page())"
    return subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env={"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin"},
        check=True,
        capture_output=True,
        text=True,
    ).stdout


def test_the_page_of_verbs_is_the_parsers(made: str) -> None:
    kept = PAGE.read_text(encoding="utf-8")
    assert kept.splitlines() == made.splitlines()[:-1], "run: python launch/generate_verbs.py"


def test_every_verb_has_its_place(made: str) -> None:
    lines = made.splitlines()
    assert all(f"## enpire {verb}" in lines for verb in VERBS)
    assert "| `--max-robot-hours HOURS` | robot time before sealed evaluations |" in lines
