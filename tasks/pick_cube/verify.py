"""What success is: the cube is between pads that shut on it, lifted, and still."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from enpire.environment import Evidence, Readings, overlay
from enpire.types import FloatArray, Outcome, Predicate, PredicateState, Verdict

from .geometry import CUBE, cube_in_hand
from .look import find_cube, red, where_they_stand

LIFTED = 60.0  # of the cube over where it lay [mm]
CENTRED = 8.0  # of its middle from between the pads, along their opening [mm]
# Pads cover some of its faces, along either edge [mm]. A cube that lies on fingers, or stands on
# their tips, is covered by nothing.
COVERED = 0.0
GRIPPED = 3.0  # opening of a jaw that shut on something: on the cube 7, on nothing -10 [deg]
SHUT = 20.0  # of one that has shut: on a cube's diagonal 16 [deg]
STILL = 60.0  # [mm/s]
PAD = np.array([0.008, 0.010])  # half a pad across the fingers and along them [m]
LAST = 5  # readings that the verdict averages
CALIBRATED = 0.0002  # what is left of cameras' places when the marks have told them [m]


def verify(evidence: Evidence) -> Verdict:
    """Return the verdict by the tracker, the hand's pose and the jaw's angle."""
    last = evidence.readings[-LAST:]
    offset = np.mean([cube_in_hand(r)[0] @ r.hand_rotation[0, 0] for r in last], axis=0)
    lift = float(np.mean([height(r)[0] for r in last]))
    return _verdict(
        lift,
        Predicate("lifted", 1e3 * lift, LIFTED, "mm"),
        *_in_hand(offset, np.zeros(3)),
        *_gripped(last),
        _still(np.array([r.position[0, 0] for r in last]), evidence.period),
    )


def verify_views(evidence: Evidence) -> Verdict:
    """Return the verdict by the cameras, the hand's pose and the jaw's angle."""
    last = evidence.readings[-LAST:]
    hand, frame = last[-1].hand_position[0, 0], last[-1].hand_rotation[0, 0]
    seen = red(evidence.views, evidence.elapsed)
    stood = where_they_stand(seen)
    cube = find_cube(stood, hand, frame)
    middle = np.full(3, np.nan) if cube is None else cube.middle
    off = np.full(3, np.nan) if cube is None else cube.accuracy + CALIBRATED
    lift = float(middle[2] - CUBE / 2)
    verdict = _verdict(
        lift,
        Predicate("lifted", 1e3 * lift, LIFTED, "mm", accuracy=1e3 * float(off[2])),
        *_in_hand((middle - hand) @ frame, off @ abs(frame)),
        *_gripped(last),
        _still(np.array([r.hand_position[0, 0] for r in last]), evidence.period),
    )
    frames = tuple(
        overlay(one, [] if cube is None else [one.view.camera.outline(cube.corners)])
        for one in (seen if cube is None else stood)
    )
    return replace(verdict, frames=frames)


def height(readings: Readings) -> FloatArray:
    """Return the cube's height above where it lay, shape (m,) [m]."""
    result: FloatArray = readings.position[:, 0, 2] - CUBE / 2
    return result


def _in_hand(offset: FloatArray, off: FloatArray) -> tuple[Predicate, Predicate]:
    """Tell where the cube is between the pads.

    offset: from the grasp point to the cube's middle in the hand's frame (opening, across,
    approach), (3,) [m]. off: how far that may be off, (3,) [m].
    """
    covered = PAD + CUBE / 2 - abs(offset[1:])
    least = float(covered.min())
    return (
        Predicate(
            "in_hand",
            1e3 * abs(float(offset[0])),
            CENTRED,
            "mm",
            at_least=False,
            accuracy=1e3 * float(off[0]),
        ),
        Predicate(
            "covered",
            1e3 * least,
            COVERED,
            "mm",
            accuracy=1e3 * (least - float((covered - off[1:]).min())),
        ),
    )


def _gripped(readings: Sequence[Readings]) -> tuple[Predicate, Predicate]:
    """The jaw, which the verifier shuts, has shut in all of them, and something keeps it open."""
    jaw = np.degrees([r.gripper[0, 0] for r in readings])
    return (
        Predicate("gripped", float(jaw.min()), GRIPPED, "deg"),
        Predicate("shut", float(jaw.max()), SHUT, "deg", at_least=False),
    )


def _still(positions: FloatArray, period: float) -> Predicate:
    """Positions (n, 3) one `period` apart [m, s] are not on their way."""
    span = period * np.arange(len(positions))
    speed = np.polyfit(span, positions, 1)[0] if len(positions) > 1 else np.zeros(3)
    return Predicate("still", 1e3 * float(np.linalg.norm(speed)), STILL, "mm/s", at_least=False)


def _verdict(lift: float, *predicates: Predicate) -> Verdict:
    """Success if all of them pass; else how far it came, and what is missing. lift [m]."""
    lifted, *held = predicates
    failed = [p for p in predicates if not p.holds]
    unsure = lifted.state is PredicateState.UNSURE
    stage = "in_hand" if all(p.holds for p in held) else "unsure" if unsure else "on_bench"
    return Verdict(
        outcome=Outcome.FAILURE if failed else Outcome.SUCCESS,
        predicates=predicates,
        score=1.0 if not failed else 0.0 if unsure else float(np.clip(1e3 * lift / LIFTED, 0, 1)),
        stage=stage if failed else "lifted",
        reason="; ".join(p.reason for p in failed),
    )
