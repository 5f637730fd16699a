"""The verdict on a card, from readings while the hands still held it and after they let go."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from enpire.environment import Evidence, Readings
from enpire.types import FloatArray, Outcome, Predicate, Verdict

from .frames import LEFT, RIGHT, aside, depth, ends_in_slot, lean

FIRST = 5  # readings with the hands still shut
LAST = 10  # readings that a final measure averages
SEATED = 6.5  # depth of the edge's middle, of the slot's 7.5, at least [mm]
SEEN_SEATED = 6.7  # what the verifier asks to see: one standard deviation of its error more [mm]
ASIDE = 2.5  # of either end from where the slot has it, at most: not beside the slot [mm]
LEVEL = 1.8  # by how much one end stands higher than the other, at most [mm]
UPRIGHT = 0.10  # lean, at most: the slot's own play lets a card lean by 0.08 [rad]
SHUTTING = 1.5  # by how much hands that hold the card close when they are told to, at most [mm]
LET_GO = 14.0  # opening of hands that have let go, at least [mm]
ENTERED = 1.0  # depth from which on the edge is in the slot [mm]


def judge(evidence: Evidence) -> Verdict:
    """Seated by the hands that held it; deep, level and upright still when they have let go."""
    first, last = evidence.readings[:FIRST], evidence.readings[-LAST:]
    ends, shutting = _ends(last), np.ptp(_opening(first), axis=0).max()
    predicates = (
        Predicate("seated", seated(evidence), SEEN_SEATED, "mm"),
        Predicate("held", 1e3 * shutting, SHUTTING, "mm", at_least=False),
        Predicate("let_go", 1e3 * _opening(last[-1:]).min(), LET_GO, "mm"),
        Predicate("stays", 1e3 * float(depth(ends)), SEEN_SEATED, "mm"),
        Predicate("in_slot", 1e3 * float(aside(ends)), ASIDE, "mm", at_least=False),
        Predicate(
            "level", 1e3 * float(abs(ends[LEFT, 2] - ends[RIGHT, 2])), LEVEL, "mm", at_least=False
        ),
        Predicate(
            "upright",
            float(abs(np.mean([lean(r)[0] for r in last]))),
            UPRIGHT,
            "rad",
            at_least=False,
        ),
    )
    failed = [p for p in predicates if not p.holds]
    deep = min(predicates[0].value, predicates[3].value) if predicates[4].holds else 0.0
    stage = "seated" if not failed else "entered" if deep > ENTERED else "outside"
    return Verdict(
        outcome=Outcome.FAILURE if failed else Outcome.SUCCESS,
        predicates=predicates,
        score=float(np.clip(deep / SEEN_SEATED, 0.0, 0.9)) if failed else 1.0,
        stage=stage,
        reason="; ".join(
            f"{p.name} {p.value:.2f} {p.unit} (needs {p.threshold:g})" for p in failed
        ),
    )


def seated(evidence: Evidence) -> float:
    """Depth of the edge's middle before the hands let go [mm]."""
    return 1e3 * float(depth(_ends(evidence.readings[:FIRST])))


def _ends(readings: Sequence[Readings]) -> FloatArray:
    ends: FloatArray = np.mean([ends_in_slot(r)[0] for r in readings], axis=0)
    return ends


def _opening(readings: Sequence[Readings]) -> FloatArray:
    return np.array([r.gripper[0] for r in readings])
