"""The page of certificates is what lies beside the packs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "reference" / "certificates.md"


@pytest.fixture(scope="module")
def made() -> str:
    """Return the page as the script makes it now, in a process without a person's packs."""
    code = (
        "import sys; sys.path.insert(0, 'launch');"
        "import generate_certificates as g; print(g.page(), end='')"
    )
    return subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env={"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin"},
        check=True,
        capture_output=True,
        text=True,
    ).stdout


def test_the_page_is_what_was_measured(made: str) -> None:
    kept = PAGE.read_text(encoding="utf-8")
    assert kept == made, "run: python launch/generate_certificates.py"


def test_every_certificate_has_its_table_and_says_whether_it_counts(made: str) -> None:
    folders = [path.parent for path in ROOT.glob("tasks/*/certificate.json")]
    assert len(folders) == 6
    assert all(f"## {folder.name}" in made for folder in folders)
    states = [line for line in made.splitlines() if line.startswith("Certif")]
    assert len(states) == len(folders)
    row = "| demonstrator | 199 of 200, 0.995 [0.972, 1.000] solved | at least 95% | pass |"
    assert row in made
