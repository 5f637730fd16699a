"""The verdict on a cut zip tie, while both hands stay away from cutter and tie.

By the tracker's readings of some time (`verify`), or by one look through cameras (`verify_views`).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from enpire.environment import ColourPatch, Evidence, Readings, overlay
from enpire.types import FloatArray, Outcome, Predicate, PredicateState, Verdict

from .clearance import clearance, clearance_of, cutter_points, tie_points
from .layout import STAND, cutter_frame, from_stand, gap, shift
from .look import Scene, colours, find

LAST = 8  # readings that the measures average
PARTED = 4.0  # between the strap's ends; they spring 7 mm apart [mm]
SHIFT = 3.0  # of the bundle in its clamp [mm]
SURE = 0.15  # that the tracker may be off in that, and is therefore asked for [mm]
PLACE = 8.0  # of the cutter from its place in the stand [mm]
TILT = 20.0  # of the standing cutter [degrees]
TURNED = 20.0  # of its hinge from across the stand; the pocket leaves it 13 [degrees]
SPEED = 30.0  # of what stands still; white noise of the tracker alone gives some 2 [mm/s]
AWAY = 15.0  # of both hands from cutter and tie [mm]
# That cameras may be off: a gap, a place, a tilt; and from a hand that they do not see.
SEEN_GAP, SEEN_PLACE, SEEN_TILT, SEEN_AWAY = 2.0, 1.5, 2.0, 2.0  # [mm], [degrees]


def verify(evidence: Evidence) -> Verdict:
    """Parted strap, bundle where it was, cutter upright and still in its stand, hands away."""
    last = evidence.readings[-LAST:]
    place = np.array([from_stand(r)[0] for r in last])
    up = np.mean([cutter_frame(r)[0, :, 2] for r in last], axis=0)
    turned = float(np.mean([_turned(cutter_frame(r)[0], r.rotation[0, STAND]) for r in last]))
    away = float(np.mean([clearance(r)[0] for r in last]))
    moved = np.mean([shift(r)[0] for r in last], axis=0)
    measures = (
        Predicate("parted", 1e3 * float(np.mean([gap(r)[0] for r in last])), PARTED, "mm"),
        _most("bundle_shift", 1e3 * float(np.linalg.norm(moved)), SHIFT - SURE, "mm"),
        _most("in_stand", 1e3 * float(np.linalg.norm(place.mean(axis=0))), PLACE, "mm"),
        _most("tilt", _tilt(up), TILT, "degrees"),
        _most("turned", turned, TURNED, "degrees"),
        _most("speed", 1e3 * _speed(place, evidence.period), SPEED, "mm/s"),
        Predicate("hand_away", 1e3 * away, AWAY, "mm"),
    )
    return _verdict(measures)


def verify_views(evidence: Evidence) -> Verdict:
    """The same from where cameras see them, and from where the joints say that the hand is.

    One look shows no speed; what is in its stand with the hand away from it stays there.
    """
    seen = colours(evidence.views, evidence.elapsed)
    scene = find(seen)
    place = tilt = turned = np.nan
    if scene.stand is not None and scene.cutter is not None:
        cutter = scene.cutter
        place = 1e3 * float(np.linalg.norm(cutter.pivot - scene.stand))
        tilt = _tilt(cutter.frame[:, 2])
        turned = _turned(cutter.frame, np.eye(3))  # the stand's sides are along the world's axes
    away = 1e3 * _away(scene, evidence.readings[-1])
    verdict = _verdict(
        (
            Predicate("parted", 1e3 * scene.gap, PARTED, "mm", accuracy=SEEN_GAP),
            _most("bundle_shift", 1e3 * scene.shift, SHIFT, "mm", 1e3 * scene.off),
            _most("in_stand", place, PLACE, "mm", SEEN_PLACE),
            _most("tilt", tilt, TILT, "degrees", SEEN_TILT),
            _most("turned", turned, TURNED, "degrees", SEEN_TILT),
            Predicate("hand_away", away, AWAY, "mm", accuracy=SEEN_AWAY),
        )
    )
    frames = tuple(
        overlay(_all(one), [one["labels"].view.camera.outline(c) for c in scene.outlines])
        for one in seen
    )
    return replace(verdict, frames=frames)


def _away(scene: Scene, readings: Readings) -> float:
    """From the nearest of both hands to what is seen of cutter and tie [m]."""
    if scene.cutter is None or scene.bundle is None:
        return np.nan
    foot, frame = scene.bundle
    cutter = cutter_points(scene.cutter.pivot[None], scene.cutter.halves[None])
    return float(clearance_of(readings, cutter, tie_points(foot[None], frame[None]))[0])


def _all(seen: dict[str, ColourPatch]) -> ColourPatch:
    """All colours of one view."""
    return ColourPatch(seen["labels"].view, np.any([one.mask for one in seen.values()], axis=0))


def _verdict(measures: tuple[Predicate, ...]) -> Verdict:
    """Success if all of them pass."""
    failed = [p for p in measures if not p.holds]
    parted = measures[0].state
    stage = {PredicateState.PASS: "parted", PredicateState.FAIL: "whole"}.get(parted, "unsure")
    return Verdict(
        outcome=Outcome.FAILURE if failed else Outcome.SUCCESS,
        predicates=measures,
        score=float(np.mean([p.holds for p in measures])),
        stage=stage if failed else "put_back",
        reason="; ".join(p.reason for p in failed),
    )


def _tilt(up: FloatArray) -> float:
    """Of a way (3,) from the vertical [degrees]."""
    return float(np.degrees(np.arctan2(np.linalg.norm(up[:2]), up[2])))


def _turned(cutter: FloatArray, stand: FloatArray) -> float:
    """Of a cutter's frame (3, 3) round the vertical of a stand's, whichever side it shows."""
    x, y, _ = stand.T @ cutter[:, 0]
    return float(np.degrees(np.arctan2(abs(y), abs(x))))


def _most(name: str, value: float, threshold: float, unit: str, accuracy: float = 0.0) -> Predicate:
    return Predicate(name, value, threshold, unit, at_least=False, accuracy=accuracy)


def _speed(positions: FloatArray, period: float) -> float:
    """Of a straight line through positions of shape (k, 3) [m/s]; unknown of a single one."""
    if len(positions) < 2:
        return np.nan
    return float(np.linalg.norm(np.polyfit(period * np.arange(len(positions)), positions, 1)[0]))
