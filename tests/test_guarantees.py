"""Each guarantee names tests that are there, and what it does not cover."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
ROWS = [
    [cell.strip() for cell in line.strip("|").split(" | ")]
    for line in (TESTS.parent / "docs/guarantees.md").read_text().splitlines()
    if line.startswith("| ") and not line.startswith("| guarantee")
]


@pytest.mark.parametrize("row", ROWS, ids=[row[0][:40] for row in ROWS])
def test_a_guarantee_is_held_by_tests_that_are_there(row: list[str]) -> None:
    assert len(row) == 3
    assert row[2]
    named = re.findall(r"`([\w/]+\.py)::(\w+)`", row[1])
    assert len(named) == row[1].count("`") // 2 > 0
    for file, test in named:
        assert f"def {test}(" in (TESTS / file).read_text(), f"{file} has no {test}"
