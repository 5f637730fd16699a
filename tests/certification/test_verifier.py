"""Which episodes are near a threshold, and how verdicts are counted against the truth."""

from __future__ import annotations

import pytest

from enpire.certification.verifier import AuditedEpisode, confusion
from enpire.rollout.evaluation.statistics import Confusion
from enpire.types import Predicate


def audited(*truth: Predicate, said: bool = True) -> AuditedEpisode:
    return AuditedEpisode(1, said, "", truth)


def deep(value: float) -> Predicate:
    return Predicate("deep", value, 15.0, "mm")


LOOP = Predicate("loop", 1.0, 0.75, "turns")
OPEN = Predicate("loop", 0.5, 0.75, "turns")


@pytest.mark.parametrize(
    ("truth", "near"),
    [
        ((deep(16.0), LOOP), True),
        ((deep(14.0), LOOP), True),
        ((deep(15.2), LOOP), False),
        ((deep(12.0), LOOP), False),
        ((deep(16.0), OPEN), False),  # the loop decides, and that is no length
        ((deep(16.0), Predicate("lean", 8.0, 5.0, "deg", at_least=False)), False),
        ((deep(30.0), Predicate("lean", 4.0, 5.0, "deg", at_least=False)), True),
    ],
)
def test_near_is_half_to_two_from_what_decides(truth: tuple[Predicate, ...], near: bool) -> None:
    assert audited(*truth).near is near


def test_verdicts_are_counted_against_the_truth() -> None:
    found = [
        audited(deep(16.0)),
        audited(deep(16.0), said=False),
        audited(deep(14.0)),
        audited(deep(14.0)),
        audited(deep(14.0), OPEN, said=False),
    ]
    assert confusion(found) == Confusion(1, 2, 1, 1)
