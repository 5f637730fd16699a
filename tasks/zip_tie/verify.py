"""The verdict on a zip tie, from readings while the verifier pulled at the tail and let it go.

Where head, tail and loop are then is said by the tracker (`verify`) or by cameras (`verify_views`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from enpire.environment import Evidence, Readings, overlay
from enpire.types import FloatArray, Outcome, Predicate, Verdict

from .frames import BUNDLE_HALF, LEFT, MOST_LEANING, RIGHT, in_head, leans, plane
from .look import (
    BENT,
    FACES,
    IN_HAND,
    LENGTH,
    PLACED,
    colours,
    find_head,
    find_tip,
    lies,
    passes,
)
from .look_loop import ROUND, LoopPlane, loop_plane, turns_seen
from .strap import ARCS, GRASP, SLOT_END, TIP

LAST = 5  # readings that a final measure averages
SCATTER = 1.5  # of one reading of a tip at rest: three deviations [mm]
DEPTH = 15.0  # of the tip beyond the head [mm]
TRACKED = 0.5  # so much more the tracker has to see, which may have it off along the slot [mm]
# In the second after the look, for which the truth waits, a tail moves by 0.35 mm out to 1.5 mm in
# (122 true successes). Most creep out: contacts on the twin give along their faces, too.
CREEPS = 0.1  # so much less is asked for [mm]
SLOT = np.array([0.0050, 0.0017])  # half of the slot's opening, along y and z of the head [m]
BESIDE = 1.7  # beyond it that a strap may be seen: half of the walls above and below [mm]
SLOPE = 0.5  # of the tail along the slot, at least: a cosine
HOLD = 3  # readings in a row that must feel the pull
PULL_FORCE = 5.5  # the verifier pulls until it has felt this for `HOLD` readings [N]
PULL_TIME = (0.2, 1.8)  # but at least and at most so long, and lets go then [s]
HELD_HEAD, HELD_TAIL = (0.0080, 0.0120), (0.0005, 0.0030)  # openings of hands on these [m]
GRIPPED = 0.012  # of a hand that holds head or tail from where that is held [m]
BEHIND = np.array([SLOT_END + 0.0190 - GRASP, 0.0, 0.0])  # of a head held, the right hand [m]
ROOM = 0.022  # that it may be elsewhere: a head is turned in the left one, a tail goes deeper [m]
FREE = 5  # readings after the right hand's letting go, until it draws back and the tie is set down
AFTER = 30  # readings between the right hand's letting go and the left one's
REST = 40  # readings after both have, until the tie is looked at for the last time
OPENED, OPENING = 0.006, 2  # of a right hand that has let go [m]; readings until that is seen
OFF = np.array([40.0, 13.0])  # opening of hands that have let go of head and of tail [mm]
CLOSED = 0.75  # of a turn round the bundle, from the head to the tip, is a loop
# A loop swings on the bundle once hands are off, by up to 15 mm along it, and a period takes 0.8 s.
# In 0.48 s it is seen at one end of its way at least, and goes beyond what was seen by no more than
# 0.53 of that, in three looks too; it slides, too. At one end stands the post, which on the twin
# stops no link.
SWINGING = 12  # readings for which it is watched
BEYOND = 2 / 3  # of the way that it was seen to swing, which it may go beyond
SWINGS = 12.0  # but no more than so much [mm]
# A loop whose lean changes by so much meanwhile tumbles, and may be off a second later: five were,
# at poses twice as far out. So did 6 of 278 true successes there, and 2 of 290 in usual scenes.
TUMBLES = 0.25  # [rad]
TURNED = 2  # readings before and after the farthest one, at least, in a loop that was seen to turn
WATCHED = (12, 6)  # readings before the last look in which cameras look, too
SWUNG = 7.0  # that it may go beyond where cameras saw it, if they did not in one of these [mm]
ON_BUNDLE = 1e3 * BUNDLE_HALF  # of where a loop may come to, from the bundle's middle [mm]
NEAR = 0.002  # a strap seen so near the bundle's axis is inside the bundle: not known where [m]
PIECE = np.linspace(0.0, 1.0, 17)  # where a piece of strap between two marks is looked at


def verify(evidence: Evidence) -> Verdict:
    """Depth, crossing, closed loop, held pull, hands off, and a loop that stays on the bundle."""
    last = evidence.readings[-1]
    seen = [in_head(r) for r in evidence.readings[-LAST:]]
    tip, along = (np.mean([one[i][0] for one in seen], axis=0) for i in (0, 1))
    # A tail that springs out meanwhile was deep on average, and is not.
    least = min(float(one[0][0, 0]) for one in seen) + 1e-3 * SCATTER
    depth = min(float(tip[0]), least) - SLOT_END
    predicates = (
        Predicate("through", 1e3 * depth, DEPTH + TRACKED - CREEPS, "mm"),
        Predicate("in_slot", float(beside(tip, along)), BESIDE, "mm", at_least=False),
        Predicate("loop_closed", turns(last.position[0], last.rotation[0]), CLOSED, "turns"),
        Predicate("holds_pull", held(evidence), 5.0, "N"),
        hands_off(evidence),
        _on_bundle(_comes_to([_tracked(r) for r in evidence.readings[-SWINGING:]])),
    )
    return _verdict(depth, predicates)


def beside(tip: FloatArray, along: FloatArray) -> FloatArray:
    """How far beyond the slot's opening a straight tail crosses the head's faces, (...) [mm].

    The worse of both faces. Not a number for a tail that does not lead along the slot.
    tip: (..., 3) [m], along: its direction, (..., 3), both in the head's frame.
    """
    leads = along[..., :1]
    slope = along[..., 1:] / np.where(leads > SLOPE, leads, np.nan)
    off = [
        abs(tip[..., 1:] + (face - tip[..., :1]) * slope) - SLOT for face in (-SLOT_END, SLOT_END)
    ]
    result: FloatArray = 1e3 * np.max(off, axis=(0, -1))
    return result


def in_slot_seen(off: float, accuracy: float = FACES) -> Predicate:
    """How far beyond the slot's opening cameras see the strap [mm]; a little way from the faces."""
    return Predicate("in_slot", off, BESIDE + FACES, "mm", at_least=False, accuracy=accuracy)


def hands_off(evidence: Evidence) -> Predicate:
    """How much further open than asked both hands are, in all readings of a last look [mm]."""
    opening = np.min([r.gripper[0] for r in evidence.readings[-LAST:]], axis=0)
    return Predicate("hands_off", float((1e3 * opening - OFF).min()), 0.0, "mm")


def _on_bundle(off: float, accuracy: float = 0.0) -> Predicate:
    """Whether a loop that may come so far from the bundle's middle stays on it [mm]."""
    return Predicate("on_bundle", off, ON_BUNDLE, "mm", at_least=False, accuracy=accuracy)


def _comes_to(seen: Sequence[LoopPlane]) -> float:
    """How far from the bundle's middle a loop may come that was seen there, in turn [mm].

    Either way. One that stands still stays where it is. One that swings may go further, unless it
    was seen to turn. Not a number for one that leans so far that it may tip over, or tumbles.
    """
    lean = [one.leans for one in seen]
    if np.mean(lean) >= MOST_LEANING or np.ptp(lean) >= TUMBLES:
        return np.nan
    crosses = [1e3 * one.crosses for one in seen]
    way = min(BEYOND * (max(crosses) - min(crosses)), SWINGS)
    return max(
        float(side.max()) + (0.0 if TURNED <= np.argmax(side) < len(side) - TURNED else way)
        for side in (np.array(crosses), -np.array(crosses))
    )


def watch(evidence: Evidence) -> bool:
    """Whether cameras are to see how the loop swings in this reading, before they look at the end.

    With the end's that is three looks, 0.48 s from the first to the last.
    """
    at = let_go(evidence)
    return at is not None and at + AFTER + REST - len(evidence.readings) + 1 in WATCHED


def _seen_to_come(evidence: Evidence, last: LoopPlane) -> tuple[float, float]:
    """How far from the middle a loop may come by the looks of cameras, and how sure that is [mm].

    last: its plane in the last look.
    """
    planes = [last]
    for before in evidence.watched:
        then = colours(before.views, before.at * evidence.period)
        moved = find_head(then, *lies(evidence.readings[before.at]))
        if moved is not None:
            planes.append(loop_plane(then, moved))
    comes_to = _comes_to(planes)
    if len(planes) <= len(WATCHED):
        comes_to = max(comes_to, 1e3 * max(abs(one.crosses) for one in planes) + SWUNG)
    return comes_to, max(one.accuracy for one in planes)


def _tracked(readings: Readings) -> LoopPlane:
    """The plane of head, marks and tip, as the tracker has them."""
    position = readings.position[0]
    loop = plane(position[_along(position)] - position[2])
    return LoopPlane(float(loop[0]), 0.0, leans(loop))


def _along(position: FloatArray) -> list[int]:
    """Which of the tracked objects are on the strap, in its order: head, marks and tip."""
    return [0, *range(3, len(position)), 1]


def verify_views(evidence: Evidence) -> Verdict:
    """The same from where cameras see them; the pull is along the line between the hands.

    Depth is as accurate as head and tip are. How far the last link leans counts for the depth of
    its end, as it may lean a little more.
    """
    last = evidence.readings[-1]
    seen = colours(evidence.views, evidence.elapsed)
    head = find_head(seen, *lies(last))
    tip = None if head is None else find_tip(seen, head)
    depth, off, accuracy, faces = np.nan, np.nan, np.nan, FACES
    loop, comes_to, beside_it = np.nan, np.nan, np.nan
    if head is not None:
        plane_seen = loop_plane(seen, head)
        loop = turns_seen(seen, head, plane_seen)
        comes_to, beside_it = _seen_to_come(evidence, plane_seen)
    if head is not None and tip is not None:
        end = head.frame.T @ (tip.middle + TIP / 2 * tip.frame[:, 0] - head.middle)
        depth = 1e3 * float(end[0] - SLOT_END)
        leans = np.linalg.norm(tip.frame[:, 0] @ head.frame[:, 1:])
        turned = (head.accuracy - PLACED) / (LENGTH / 2)  # that the head may be, by its label [rad]
        across = TIP / 2 * BENT * leans + turned * np.linalg.norm(end[1:])
        accuracy = 1e3 * float(tip.accuracy + head.accuracy + across)
        heights, unsure = passes(seen, head, tip)
        beyond = abs(np.array([end[1], *heights])) - SLOT[[0, 1, 1]]
        off, faces = 1e3 * float(beyond.max()), 1e3 * unsure
    verdict = _verdict(
        1e-3 * depth,
        (
            Predicate("through", depth, DEPTH - CREEPS, "mm", accuracy=accuracy),
            in_slot_seen(off, faces),
            Predicate("loop_closed", loop, CLOSED, "turns", accuracy=ROUND),
            Predicate("holds_pull", _held_until_opened(evidence), 5.0, "N"),
            hands_off(evidence),
            _on_bundle(comes_to, beside_it),
        ),
    )
    bodies = [body for body in (head, tip) if body is not None]
    frames = tuple(
        overlay(one.all, [one.tip.view.camera.outline(body.corners) for body in bodies])
        for one in seen
    )
    return replace(verdict, frames=frames)


def _verdict(depth: float, predicates: tuple[Predicate, ...]) -> Verdict:
    """Success if all of them pass; else how far it came, and what is missing. depth [m]."""
    failed = [p for p in predicates if not p.holds]
    stage = "apart" if depth < -0.012 else "entered" if depth < 0.015 else "through"
    if np.isnan(depth):
        stage = "unsure"
    if not failed:
        stage = "fastened"
    reason = "; ".join(p.reason for p in failed)
    share = np.mean([p.holds for p in predicates])
    return Verdict(
        outcome=Outcome.FAILURE if failed else Outcome.SUCCESS,
        predicates=predicates,
        score=float(share),
        stage=stage,
        reason=reason,
    )


def pull(readings: Readings) -> float:
    """Force with which the right hand pulls the tail back into the slot, in one reading [N].

    None, unless the left hand holds the head, and the right one the tail where that is to be held:
    what is felt otherwise is something else.
    """
    tip, along, _ = (part[0] for part in in_head(readings))
    frame = readings.rotation[0, 0]
    hands = (readings.hand_position[0] - readings.position[0, 0]) @ frame
    off = hands - np.stack([np.zeros(3), tip - GRASP * along])
    if np.linalg.norm(off, axis=1).max() > GRIPPED or not holding(readings):
        return 0.0
    return -float(frame[:, 0] @ readings.wrist_force[0, RIGHT])


def holding(readings: Readings) -> bool:
    """Whether hands are as far open as on a head and on a tail."""
    head, tail = readings.gripper[0, [LEFT, RIGHT]]
    return bool(HELD_HEAD[0] < head < HELD_HEAD[1] and HELD_TAIL[0] < tail < HELD_TAIL[1])


def let_go(evidence: Evidence) -> int | None:
    """The reading at which the pull has been long enough and the right hand is to let go."""
    pulls = [pull(r) for r in evidence.readings]
    shortest, longest = PULL_TIME
    for i in range(HOLD - 1, len(pulls)):
        elapsed = i * evidence.period
        felt = min(pulls[i - HOLD + 1 : i + 1]) >= PULL_FORCE
        if (felt and elapsed > shortest) or elapsed > longest:
            return i
    return None


def rested(evidence: Evidence, at: int | None) -> bool:
    """Whether both hands have let go, the right one at reading `at`, and the tie could move."""
    return at is not None and len(evidence.readings) > at + AFTER + REST


def held(evidence: Evidence) -> float:
    """What the tail bore before the hand let go [N]; nothing is known, 0, if it never did."""
    at = let_go(evidence)
    if at is None or not rested(evidence, at):
        return 0.0
    return min(pull(r) for r in evidence.readings[at - HOLD + 1 : at + 1])


def _held_until_opened(evidence: Evidence) -> float:
    """What the tail bore in `HOLD` readings in a row, until the right hand was seen to open [N].

    Nothing is known, 0, if it did not, or if both have not been off for long enough.
    """
    pulls = [_drawn(r) if _apart(r) else 0.0 for r in evidence.readings]
    opened = [i for i, r in enumerate(evidence.readings) if r.gripper[0, RIGHT] > OPENED]
    if not opened or opened[0] < HOLD or len(pulls) < opened[0] + AFTER + REST - OPENING:
        return 0.0
    return max(min(pulls[i - HOLD : i]) for i in range(HOLD, opened[0] + 1))


def _drawn(readings: Readings) -> float:
    """Force with which the right hand draws away from the left one, in one reading [N].

    The tail between them is taut, and pulls along itself. The head turns between the left hand's
    pads, by up to 25 degrees, so the slot is not where the hand alone would have it.
    """
    left, right = readings.hand_position[0, [LEFT, RIGHT]]
    way = (left - right) / np.linalg.norm(left - right)
    return -float(way @ readings.wrist_force[0, RIGHT])


def _apart(readings: Readings) -> bool:
    """Whether hands hold head and tail, by where they are from each other and how far open."""
    frame = readings.hand_rotation[0, LEFT] @ IN_HAND
    right = (readings.hand_position[0, RIGHT] - readings.hand_position[0, LEFT]) @ frame
    return bool(np.linalg.norm(right - BEHIND) < ROOM) and holding(readings)


def turns(position: FloatArray, rotation: FloatArray) -> float:
    """How often the strap goes round the bundle, from head over its marks to the tip [turns].

    Between two marks half the loop may lie, and the angle between them alone does not say on which
    side of the bundle. The strap's direction at both does: a cubic between them (Hermite), as long
    as the strap is. 0 where that passes through the bundle: then it is not known. 0 too for a loop
    beyond the bundle's ends.

    position: of head, tip, bundle and marks, shape (objects, 3) [m]. rotation: theirs,
    (objects, 3, 3); the strap runs along their x.
    """
    order = _along(position)
    loop = position[order] - position[2]
    if abs(plane(loop)[0]) > BUNDLE_HALF:
        return 0.0
    points = loop[:, 1:]
    along = rotation[order, 1:, 0]
    s = PIECE[:, None, None]
    begin, end, arcs = points[:-1], points[1:], np.array(ARCS)[:, None]
    curve = (
        (2 * s**3 - 3 * s**2 + 1) * begin
        + (s**3 - 2 * s**2 + s) * arcs * along[:-1]
        + (3 * s**2 - 2 * s**3) * end
        + (s**3 - s**2) * arcs * along[1:]
    )
    curve = curve.swapaxes(0, 1).reshape(-1, 2)
    if np.linalg.norm(curve, axis=1).min() < NEAR:
        return 0.0
    angles = np.unwrap(np.arctan2(curve[:, 1], curve[:, 0]))
    return float(abs(angles[-1] - angles[0]) / (2 * np.pi))
