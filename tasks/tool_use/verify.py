"""The verdict on a cut zip tie, from readings taken while the hand stays away from the cutter."""

from __future__ import annotations

import numpy as np

from enpire.environment import Evidence
from enpire.types import FloatArray, Outcome, Predicate, Verdict

from .layout import cutter_frame, from_stand, gap, reach, shifted

LAST = 8  # readings that the measures average
PARTED = 4.0  # between the strap's ends; they spring 7 mm apart [mm]
SHIFT = 3.0  # of the bundle in its clamp [mm]
PLACE = 8.0  # of the cutter from its place in the stand [mm]
TILT = 20.0  # of the standing cutter [degrees]
SPEED = 30.0  # of what stands still; white noise of the tracker alone gives some 2 [mm/s]
AWAY = 30.0  # of the hand from the handles [mm]


def judge(evidence: Evidence) -> Verdict:
    """Parted strap, bundle where it was, cutter upright and still in its stand, hand away."""
    last = evidence.readings[-LAST:]
    place = np.array([from_stand(r)[0] for r in last])
    up = np.mean([cutter_frame(r)[0, :, 2] for r in last], axis=0)
    tilt = np.degrees(np.arctan2(np.linalg.norm(up[:2]), up[2]))
    away = float(np.mean([reach(r)[0] for r in last]))
    measures = (
        Predicate("parted", 1e3 * float(np.mean([gap(r)[0] for r in last])), PARTED, "mm"),
        _most("bundle_shift", 1e3 * float(np.mean([shifted(r)[0] for r in last])), SHIFT, "mm"),
        _most("in_stand", 1e3 * float(np.linalg.norm(place.mean(axis=0))), PLACE, "mm"),
        _most("tilt", float(tilt), TILT, "degrees"),
        _most("speed", 1e3 * _speed(place, evidence.period), SPEED, "mm/s"),
        Predicate("hand_away", 1e3 * away, AWAY, "mm"),
    )
    failed = [p for p in measures if not p.holds]
    return Verdict(
        outcome=Outcome.FAILURE if failed else Outcome.SUCCESS,
        predicates=measures,
        score=float(np.mean([p.holds for p in measures])),
        stage="put_back" if not failed else "parted" if measures[0].holds else "whole",
        reason="; ".join(
            f"{p.name} {p.value:.1f} {p.unit} (needs {p.threshold:g})" for p in failed
        ),
    )


def _most(name: str, value: float, threshold: float, unit: str) -> Predicate:
    return Predicate(name, value, threshold, unit, at_least=False)


def _speed(positions: FloatArray, period: float) -> float:
    """Of a straight line through positions of shape (k, 3) [m/s]."""
    if len(positions) < 2:
        return 0.0
    return float(np.linalg.norm(np.polyfit(period * np.arange(len(positions)), positions, 1)[0]))
