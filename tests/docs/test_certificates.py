"""The page of certificates is what lies beside the packs."""

from __future__ import annotations

import pytest

from tests.docs.generated import ROOT, page_of

PAGE = ROOT / "docs" / "reference" / "certificates.md"


@pytest.fixture(scope="module")
def made() -> str:
    """Return the page as the script makes it now."""
    return page_of("generate_certificates")


def test_the_page_is_what_was_measured(made: str) -> None:
    kept = PAGE.read_text(encoding="utf-8")
    assert kept == made, "run: python launch/generate_certificates.py"


def test_every_certificate_has_its_table_and_says_whether_it_counts(made: str) -> None:
    folders = [path.parent for path in ROOT.glob("tasks/*/certificate.json")]
    assert len(folders) == 8
    assert all(f"## {folder.name}" in made for folder in folders)
    states = [line for line in made.splitlines() if line.startswith("Certif")]
    assert len(states) == len(folders)
    row = "| demonstrator | 199 of 200, 0.995 [0.972, 1.000] solved | at least 95% | pass |"
    assert row in made
