"""The verdict on a pin box, from what is seen after the fingers let go and backed off.

Where box and pins are then is said by the tracker (`verify`) or by cameras (`verify_views`).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from enpire.environment import Evidence, Readings, overlay
from enpire.types import FloatArray, Outcome, Predicate, PredicateState, Verdict

from .frames import in_holes
from .grasping import clearance
from .look import colours, find_box, find_pin
from .parts import HOLES, PIN_LENGTH, PIN_RADIUS, PINS

LAST = 5  # readings that a measure averages
SEATED = 0.012  # depth of a seated pin, at least; the hole is 14 mm deep [m]
LOOKS_SEATED = 0.0128  # the same in a single reading, before the verifier comes [m]
UPRIGHT = 0.10  # tilt of a seated pin, at most; the hole leaves it 0.02 [rad]
IN_LINE = 0.0025  # distance of its end from the hole's axis, at most [m]
# Of the hand's nearest part from every pin, at least [m]: about a pin, open and not backed off, it
# is 9 mm; one that leans on a pin with its outer side has not let go either.
APART = 0.012
ALONG = np.linspace(PIN_RADIUS, PIN_LENGTH - PIN_RADIUS, 9)  # points of a pin's axis, held so [m]

# Of every pin, and so of success: name, threshold [m or rad], in units of the predicate, at least
# or at most; how far cameras may be off [m or rad].
CONDITIONS = (
    ("seated", SEATED, 1e3, "mm", True, 0.0005),
    ("in_line", IN_LINE, 1e3, "mm", False, 0.0010),
    ("upright", UPRIGHT, 1.0, "rad", False, 0.03),
    ("let_go", APART, 1e3, "mm", True, 0.0015),
)
DECIDES = (
    PredicateState.FAIL,
    PredicateState.UNSURE,
    PredicateState.BOUNDARY,
    PredicateState.PASS,
)  # the worst first


def seated(readings: Readings) -> NDArray[np.bool_]:
    """Whether every pin looks seated, shape (m,)."""
    ends, directions = in_holes(readings)
    off = np.linalg.norm(ends[..., :2], axis=-1)
    each = (ends[..., 2] < -LOOKS_SEATED) & (off < IN_LINE) & (_tilt(directions) < UPRIGHT)
    result: NDArray[np.bool_] = each.all(axis=-1)
    return result


def verify(evidence: Evidence) -> Verdict:
    """Each condition is that of the worst pin; success is all of them."""
    last = evidence.readings[-LAST:]
    ends, directions = (np.mean(part, axis=0)[0] for part in zip(*map(in_holes, last), strict=True))
    away = [_apart(r, r.position[0, 1:], r.rotation[0, 1:, :, 2]) for r in last]
    return _verdict(ends, directions, np.mean(away, axis=0))


def verify_views(evidence: Evidence) -> Verdict:
    """The same of the pins that cameras see, each by its colour; the hand is where joints say."""
    seen = colours(evidence.views, evidence.elapsed)
    box = find_box(seen)
    pins = [find_pin([one.pins[i] for one in seen]) for i in range(PINS)]
    ends, directions, away = (np.full(shape, np.nan) for shape in ((PINS, 3), (PINS, 3), PINS))
    for i, pin in enumerate(pins):
        if box is not None and pin is not None:
            ends[i] = (pin.end - box.at) @ box.frame - HOLES[i]
            directions[i] = pin.axis @ box.frame
            away[i] = _apart(evidence.readings[-1], pin.end[None], pin.axis[None])[0]
    bodies = [body for body in (box, *pins) if body is not None]
    frames = tuple(
        overlay(one.all, [one.box.view.camera.outline(body.corners) for body in bodies])
        for one in seen
    )
    return replace(_verdict(ends, directions, away, by_cameras=True), frames=frames)


def _apart(readings: Readings, ends: FloatArray, axes: FloatArray) -> FloatArray:
    """How far the nearest part of the hand is from each pin (pins,) [m].

    ends [m] and axes of pins, world frame, both (pins, 3).
    """
    hand, frame = readings.hand_position[0], readings.hand_rotation[0]
    gap = float(readings.gripper[0, 0]) / 2
    radii = np.full(len(ALONG), PIN_RADIUS)
    points = ends[:, None] + ALONG[:, None] * axes[:, None]
    return np.array([clearance(hand, frame, gap, one, radii)[0] for one in points])


def _verdict(
    ends: FloatArray, directions: FloatArray, away: FloatArray, by_cameras: bool = False
) -> Verdict:
    """Success if every condition holds for every pin.

    ends [m] and directions: in their holes' frames, both (pins, 3). away: of the hand, (pins,) [m].
    What is not known is not a number.
    """
    measures = -ends[:, 2], np.linalg.norm(ends[:, :2], axis=-1), _tilt(directions), away
    each = [
        [
            Predicate(name, scale * float(m), scale * needs, unit, at_least, scale * off)
            for m in of_pins
        ]
        for of_pins, (name, needs, scale, unit, at_least, seen) in zip(
            measures, CONDITIONS, strict=True
        )
        for off in (seen if by_cameras else 0.0,)
    ]
    predicates = tuple(min(row, key=lambda p: (DECIDES.index(p.state), p.margin)) for row in each)
    failed = [p for p in predicates if not p.holds]
    good = np.array([[p.holds for p in row] for row in each]).all(axis=0)
    reason = "; ".join(p.reason for p in failed)
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
