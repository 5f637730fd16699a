"""What success is: all of the block lies on the pad, flat and still, and no hand is near it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from enpire.environment import Evidence, Readings
from enpire.types import FloatArray, Outcome, Predicate, Verdict

from .geometry import BLOCK, block_from_hand, height, margin, pad_from_block

# Fingers that are so far apart hold nothing: the block's diagonal is 57 mm [m].
LET_GO = 0.060
INSIDE = 2.0  # of the outermost corner within the pad's rim; the tracker may be off by that [mm]
HIGH = 3.0  # of the block over the bench [mm]
TILT = 6.0  # of the face it lies on [deg]
CLEAR = 60.0  # of the hand over the block; 40 of these are finger and half the block [mm]
STILL = 20.0  # [mm/s]
LAST = 10  # readings that the verdict averages
FAR = 0.3  # of the block from the pad, from where on nothing is achieved [m]


def verify(evidence: Evidence) -> Verdict:
    """Return the verdict by the tracker and the hand's pose, once the hand was raised."""
    last = evidence.readings[-LAST:]
    block = np.array([r.position[0, 0] for r in last])
    inside = 1e3 * float(np.mean([margin(r)[0] for r in last]))
    high = 1e3 * abs(float(np.mean([height(r)[0] for r in last])))
    clear = -1e3 * float(np.mean([block_from_hand(r)[0, 2] for r in last]))
    predicates = (
        Predicate("inside", inside, INSIDE, "mm"),
        Predicate("high", high, HIGH, "mm", at_least=False),
        Predicate("tilt", _tilt(last), TILT, "deg", at_least=False),
        Predicate("clear", clear, CLEAR, "mm"),
        Predicate("still", _speed(block, evidence.period), STILL, "mm/s", at_least=False),
    )
    failed = [p for p in predicates if not p.holds]
    off = float(np.linalg.norm(pad_from_block(last[-1])[0, :2]))
    lifted = high > 1e3 * BLOCK / 2
    return Verdict(
        outcome=Outcome.FAILURE if failed else Outcome.SUCCESS,
        predicates=predicates,
        score=float(np.clip(0.9 - off / FAR, 0.0, 0.9)) if failed else 1.0,
        stage=("held" if lifted else "beside") if failed else "placed",
        reason="; ".join(p.reason for p in failed),
    )


def _tilt(readings: Sequence[Readings]) -> float:
    """How far the face that the block lies on is off the horizontal, on average [deg]."""
    upright = np.mean([abs(r.rotation[0, 0, 2]).max() for r in readings])
    return float(np.degrees(np.arccos(min(1.0, upright))))


def _speed(positions: FloatArray, period: float) -> float:
    """Return the speed of positions (n, 3) [m] that are one `period` apart [s], in mm/s."""
    if len(positions) < 2:
        return 0.0
    span = period * np.arange(len(positions))
    return 1e3 * float(np.linalg.norm(np.polyfit(span, positions, 1)[0]))
