"""The page of verbs is what the parser says today."""

from __future__ import annotations

import pytest

from enpire.cli.verbs import VERBS
from tests.docs.generated import ROOT, page_of

PAGE = ROOT / "docs" / "reference" / "verbs.md"


@pytest.fixture(scope="module")
def made() -> str:
    """Return the page as the script makes it now."""
    return page_of("generate_verbs")


def test_the_page_of_verbs_is_the_parsers(made: str) -> None:
    kept = PAGE.read_text(encoding="utf-8")
    assert kept == made, "run: python launch/generate_verbs.py"


def test_every_verb_has_its_place(made: str) -> None:
    lines = made.splitlines()
    assert all(f"## enpire {verb}" in lines for verb in VERBS)
    assert "| `--max-robot-hours HOURS` | robot time; sealed evaluations do not count |" in lines
