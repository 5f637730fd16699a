"""The verdict on a card, from readings while the hands still held it and after they let go.

Where it is then is said by the tracker (`verify`) or by cameras (`verify_views`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from enpire.environment import Evidence, Readings, overlay
from enpire.types import FloatArray, Outcome, Predicate, PredicateState, Verdict

from .frames import GRASPS, LEFT, RIGHT, aside, card_seen, clearance, depth, ends_in_slot, lean
from .look import UNSEEN, Pose, find_card, find_slot, marks, seating

FIRST = 5  # readings with the hands still shut
LAST = 10  # readings that a final measure averages
SEATED = 6.5  # depth of the edge's middle, of the slot's 7.5, at least [mm]
SEEN_SEATED = 6.7  # what the verifier asks to see: one standard deviation of its error more [mm]
ASIDE = 2.5  # of either end from where the slot has it, at most: not beside the slot [mm]
LEVEL = 1.8  # by how much one end stands higher than the other, at most [mm]
UPRIGHT = 0.16  # lean, at most: one that no hand props leans by the slot's play, 0.12 [rad]
SHUTTING = 1.5  # by how much hands that hold the card close when they are told to, at most [mm]
LET_GO = 40.0  # opening of hands that have let go, at least [mm]
CLEAR = 3.0  # of every finger from the face of the card beside it, at least [mm]
GENTLE = 30.0  # at a wrist, as while a policy acts, at most [N]
ENTERED = 1.0  # depth from which on the edge is in the slot [mm]


def verify(evidence: Evidence) -> Verdict:
    """Seated by the hands that held it; deep, level and upright when they touch it no more."""
    first, last = evidence.readings[:FIRST], evidence.readings[-LAST:]
    ends, shutting = _ends(last), np.ptp(_opening(first), axis=0).max()
    clear = clearance(*card_seen(last[-1]), last[-1])
    predicates = (
        Predicate("seated", seated(evidence), SEEN_SEATED, "mm"),
        Predicate("held", 1e3 * shutting, SHUTTING, "mm", at_least=False),
        Predicate("let_go", 1e3 * _opening(last[-1:]).min(), LET_GO, "mm"),
        Predicate("clear", 1e3 * clear, CLEAR, "mm"),
        _gentle(evidence),
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
    by_name = {p.name: p for p in predicates}
    deep = min(by_name["seated"].value, by_name["stays"].value)
    return _verdict(deep if by_name["in_slot"].holds else 0.0, predicates)


def verify_views(evidence: Evidence) -> Verdict:
    """The same from where cameras see card and slot once the hands have let go.

    Depth before is not seen. It is for the hands that they are only told to open if it was enough,
    and for the wrists that nothing pressed.
    """
    first, last = evidence.readings[:FIRST], evidence.readings[-1]
    seen = marks(evidence.views, evidence.elapsed)
    slot = find_slot(seen)
    held = first[-1]  # by hands that are still shut about it
    card = find_card(seen, held.hand_position[0], held.hand_rotation[0])
    found = UNSEEN if card is None or slot is None else seating(card, slot)
    shutting = np.ptp(_opening(first), axis=0).max()

    def measured(
        name: str, value: tuple[float, float], threshold: float, unit: str, at_least: bool = False
    ) -> Predicate:
        return Predicate(name, value[0], threshold, unit, at_least, accuracy=value[1])

    predicates = (
        Predicate("held", 1e3 * float(shutting), SHUTTING, "mm", at_least=False),
        Predicate("let_go", 1e3 * float(_opening([last]).min()), LET_GO, "mm"),
        measured("clear", _clear(card, last), CLEAR, "mm", at_least=True),
        _gentle(evidence),
        measured("stays", found.depth, SEATED, "mm", at_least=True),
        measured("in_slot", found.aside, ASIDE, "mm"),
        measured("level", found.step, LEVEL, "mm"),
        measured("upright", found.lean, UPRIGHT, "rad"),
    )
    bodies = [body for body in (slot, card) if body is not None]
    frames = tuple(
        overlay(
            one.all,
            [one.all.view.camera.project(rim) for body in bodies for rim in body.outlines],
        )
        for one in seen
    )
    in_slot = next(p for p in predicates if p.name == "in_slot")
    deep = found.depth[0] if in_slot.holds else 0.0
    return replace(_verdict(deep, predicates), frames=frames)


def _gentle(evidence: Evidence) -> Predicate:
    """Whether no wrist felt more than while a policy acts."""
    felt = np.linalg.norm([r.wrist_force[0] for r in evidence.readings], axis=-1).max()
    return Predicate("gentle", float(felt), GENTLE, "N", at_least=False)


def _clear(card: Pose | None, hands: Readings) -> tuple[float, float]:
    """How clear of the hands a card is that was seen, and how far that may be off [mm]."""
    if card is None:
        return np.nan, np.nan
    off = card.accuracy(float(np.linalg.norm(GRASPS, axis=1).max()))
    return 1e3 * clearance(card.at, card.frame, hands), 1e3 * off


def _verdict(deep: float, predicates: tuple[Predicate, ...]) -> Verdict:
    """Success if all of them pass; else how far it came, and what is missing. deep [mm]."""
    failed = [p for p in predicates if not p.holds]
    stage = "entered" if deep > ENTERED else "outside"
    if any(p.state is PredicateState.UNSURE for p in failed):
        stage = "unsure"
    return Verdict(
        outcome=Outcome.FAILURE if failed else Outcome.SUCCESS,
        predicates=predicates,
        score=float(np.clip(deep / SEEN_SEATED, 0.0, 0.9)) if failed else 1.0,
        stage=stage if failed else "seated",
        reason="; ".join(p.reason for p in failed),
    )


def seated(evidence: Evidence) -> float:
    """Depth of the edge's middle before the hands let go [mm]; none of one beside the slot."""
    ends = _ends(evidence.readings[:FIRST])
    return 1e3 * float(depth(ends)) if 1e3 * float(aside(ends)) <= ASIDE else 0.0


def _ends(readings: Sequence[Readings]) -> FloatArray:
    ends: FloatArray = np.mean([ends_in_slot(r)[0] for r in readings], axis=0)
    return ends


def _opening(readings: Sequence[Readings]) -> FloatArray:
    return np.array([r.gripper[0] for r in readings])
