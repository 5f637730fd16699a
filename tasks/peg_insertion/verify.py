"""The verdict on a peg, from readings while the hand still held it and after it let go."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from enpire.environment import Evidence, Readings
from enpire.types import FloatArray, Outcome, Predicate, Verdict

from .frames import GRASP, HEAD, axis_in_hole, peg_pose, tip_in_hole

FIRST = 5  # readings with the hand still shut
LAST = 10  # readings that a final measure averages
SEATED = 28.5  # depth of the tip, of the hole's 30, that is to be seen, at least [mm]
ASIDE = 2.0  # of the tip from the hole's axis, at most: not beside the hole [mm]
UPRIGHT = 3.0  # lean of the peg, at most: in the hole its play allows 1.1 [deg]
SHUTTING = 1.5  # by how much a hand that holds the peg closes when it is told to, at most [mm]
LET_GO = 40.0  # opening of a hand that has let go, at least [mm]
CLEAR = 3.0  # of either finger from the face of the head beside it, at least [mm]
GENTLE = 40.0  # at the wrist, as while a policy acts, at most [N]
ENTERED = 3.0  # depth from which on the tip is in the hole [mm]


def verify(evidence: Evidence) -> Verdict:
    """Return the verdict: seated by the hand that held it, and staying there without it."""
    first, last = evidence.readings[:FIRST], evidence.readings[-LAST:]
    tip, lean = _tip(last), np.degrees(np.arccos(min(1.0, _axis(last)[2])))
    shutting = np.ptp([r.gripper[0, 0] for r in first])
    felt = np.linalg.norm([r.wrist_force[0, 0] for r in evidence.readings], axis=-1).max()
    aside = 1e3 * float(np.hypot(*tip[:2]))
    predicates = (
        Predicate("seated", seated(evidence), SEATED, "mm"),
        Predicate("held", 1e3 * float(shutting), SHUTTING, "mm", at_least=False),
        Predicate("let_go", 1e3 * float(last[-1].gripper[0, 0]), LET_GO, "mm"),
        Predicate("clear", 1e3 * _clearance(last), CLEAR, "mm"),
        Predicate("gentle", float(felt), GENTLE, "N", at_least=False),
        Predicate("stays", -1e3 * float(tip[2]), SEATED, "mm"),
        Predicate("in_hole", aside, ASIDE, "mm", at_least=False),
        Predicate("upright", float(lean), UPRIGHT, "deg", at_least=False),
    )
    failed = [p for p in predicates if not p.holds]
    deep = min(predicates[0].value, -1e3 * float(tip[2])) if aside <= ASIDE else 0.0
    stage = "entered" if deep > ENTERED else "outside"
    return Verdict(
        outcome=Outcome.FAILURE if failed else Outcome.SUCCESS,
        predicates=predicates,
        score=float(np.clip(deep / SEATED, 0.0, 0.9)) if failed else 1.0,
        stage=stage if failed else "seated",
        reason="; ".join(p.reason for p in failed),
    )


def seated(evidence: Evidence) -> float:
    """Return the tip's depth before the hand lets go [mm]; none of one beside the hole."""
    tip = _tip(evidence.readings[:FIRST])
    return -1e3 * float(tip[2]) if 1e3 * np.hypot(*tip[:2]) <= ASIDE else 0.0


def _clearance(seen: Sequence[Readings]) -> float:
    """Return how far the finger that is nearest to its face of the head is from it [m]."""
    tip, frame = peg_pose(seen)
    hand = seen[-1]
    opening = hand.hand_rotation[0, 0, :, 0]
    aside = abs(float(opening @ (tip + frame @ GRASP - hand.hand_position[0, 0])))
    # A head that is turned between the fingers is broader than it is thick.
    turned = abs(frame[:, :2].T @ opening).sum()
    return float(hand.gripper[0, 0]) / 2 - aside - turned * HEAD / 2


def _tip(readings: Sequence[Readings]) -> FloatArray:
    tip: FloatArray = np.mean([tip_in_hole(r)[0] for r in readings], axis=0)
    return tip


def _axis(readings: Sequence[Readings]) -> FloatArray:
    axis = np.mean([axis_in_hole(r)[0] for r in readings], axis=0)
    unit: FloatArray = axis / np.linalg.norm(axis)
    return unit
