"""Selection: whose trials are decided first, by the records alone."""

from __future__ import annotations

import pytest

from enpire.evolution.experiments.selection import level, most_promising
from enpire.rollout.evaluation.comparison import PairedRecord


@pytest.mark.parametrize(
    ("records", "first"),
    [
        ({1: PairedRecord(2, 2), 2: PairedRecord(4, 1), 3: PairedRecord()}, 2),
        ({1: PairedRecord(1, 2), 2: PairedRecord()}, 2),  # nobody has tried the second
        ({1: PairedRecord(0, 0, 3), 2: PairedRecord()}, 2),  # alike, and fewer pairs
        ({}, None),
    ],
)
def test_the_most_promising_trials_come_first(
    records: dict[int, PairedRecord], first: int | None
) -> None:
    assert most_promising(records) == first


def test_the_level_is_shared_out() -> None:
    assert level(0.05, 8) == pytest.approx(0.00625)
    assert level(0.05, 0) == 0.05
