"""The verdict on a pin box, from readings taken after the fingers let go and backed off."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from enpire.environment import Evidence, Readings
from enpire.types import FloatArray, Outcome, Predicate, Verdict

from .frames import from_hand, in_holes
from .parts import PINS

LAST = 5  # readings that a measure averages
SEATED = 0.012  # depth of a seated pin, at least; the hole is 14 mm deep [m]
LOOKS_SEATED = 0.0128  # the same in a single reading, before the verifier comes [m]
UPRIGHT = 0.10  # tilt of a seated pin, at most; the hole leaves it 0.02 [rad]
IN_LINE = 0.0025  # distance of its end from the hole's axis, at most [m]
APART = 0.020  # of the grasp point from every pin's grip, at least [m]


def seated(readings: Readings) -> NDArray[np.bool_]:
    """Whether every pin looks seated, shape (m,)."""
    ends, directions = in_holes(readings)
    off = np.linalg.norm(ends[..., :2], axis=-1)
    each = (ends[..., 2] < -LOOKS_SEATED) & (off < IN_LINE) & (_tilt(directions) < UPRIGHT)
    result: NDArray[np.bool_] = each.all(axis=-1)
    return result


def judge(evidence: Evidence) -> Verdict:
    """Each condition is that of the worst pin; success is all of them."""
    last = evidence.readings[-LAST:]
    ends, directions = (np.mean(part, axis=0)[0] for part in zip(*map(in_holes, last), strict=True))
    away = np.mean([from_hand(r)[0] for r in last], axis=0)
    depth, off, tilt = -ends[:, 2], np.linalg.norm(ends[:, :2], axis=-1), _tilt(directions)
    predicates = (
        Predicate("seated", 1e3 * float(depth.min()), 1e3 * SEATED, "mm"),
        Predicate("in_line", 1e3 * float(off.max()), 1e3 * IN_LINE, "mm", at_least=False),
        Predicate("upright", float(tilt.max()), UPRIGHT, "rad", at_least=False),
        Predicate("let_go", 1e3 * float(away.min()), 1e3 * APART, "mm"),
    )
    failed = [p for p in predicates if not p.holds]
    good = (depth >= SEATED) & (off <= IN_LINE) & (tilt <= UPRIGHT) & (away >= APART)
    reason = "; ".join(f"{p.name} {p.value:.2f} {p.unit} (needs {p.threshold:g})" for p in failed)
    return Verdict(
        outcome=Outcome.FAILURE if failed else Outcome.SUCCESS,
        predicates=predicates,
        score=float(good.mean()),
        stage=f"{good.sum()} of {PINS}",
        reason=reason,
    )


def _tilt(directions: FloatArray) -> FloatArray:
    """Angle of directions (..., 3) from the upright [rad]."""
    result: FloatArray = np.arctan2(
        np.linalg.norm(directions[..., :2], axis=-1), directions[..., 2]
    )
    return result
