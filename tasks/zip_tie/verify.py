"""The verdict on a fastened zip tie, from readings taken while the verifier pulled at the tail."""

from __future__ import annotations

import numpy as np

from enpire.environment import Evidence, Readings
from enpire.types import FloatArray, Outcome, Predicate, Verdict

from .frames import in_head
from .strap import SLOT_END

LAST = 5  # readings that a final measure averages
HOLD = 3  # readings in a row that must feel the pull
CLOSED = 0.75  # of a turn round the bundle, from the head to the tip, is a loop


def judge(evidence: Evidence) -> Verdict:
    """Depth, alignment, closed loop and held pull; success is all of them."""
    tips = np.array([in_head(r)[0][0] for r in evidence.readings])
    pulls = np.array([pull(r) for r in evidence.readings])
    tip = tips[-LAST:].mean(axis=0)
    depth = float(tip[0] - SLOT_END)
    held = float(pulls[-HOLD:].min())
    predicates = (
        Predicate("through", 1e3 * depth, 15.0, "mm"),
        Predicate("in_line", 1e3 * float(np.linalg.norm(tip[1:])), 6.0, "mm", at_least=False),
        Predicate("loop_closed", turns(evidence.readings[-1].position[0]), CLOSED, "turns"),
        Predicate("holds_pull", held, 5.0, "N"),
    )
    failed = [p for p in predicates if not p.holds]
    stage = "apart" if depth < -0.012 else "entered" if depth < 0.015 else "through"
    if not failed:
        stage = "fastened"
    reason = "; ".join(f"{p.name} {p.value:.2f} {p.unit} (needs {p.threshold:g})" for p in failed)
    share = np.mean([p.holds for p in predicates])
    return Verdict(
        outcome=Outcome.FAILURE if failed else Outcome.SUCCESS,
        predicates=predicates,
        score=float(share),
        stage=stage,
        reason=reason,
    )


def pull(readings: Readings) -> float:
    """Force with which the right hand is pulled back into the slot, in one reading [N]."""
    axis = readings.rotation[0, 0, :, 0]
    return -float(axis @ readings.wrist_force[0, 1])


def turns(tracked: FloatArray) -> float:
    """How often the strap goes round the bundle, from head over its marks to the tip [turns].

    tracked: positions of head, tip, bundle and marks, shape (objects, 3) [m].
    """
    bundle = tracked[2]
    points = np.concatenate([tracked[:1], tracked[3:], tracked[1:2]])[:, 1:] - bundle[1:]
    angles = np.unwrap(np.arctan2(points[:, 1], points[:, 0]))
    return float(abs(angles[-1] - angles[0]) / (2 * np.pi))
