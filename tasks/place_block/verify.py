"""What success is: all of the block lies on the pad, flat and still, and no hand is near it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from enpire.environment import CameraView, Evidence, Readings, fresh, overlay
from enpire.types import FloatArray, Frame, Outcome, Predicate, PredicateState, Verdict

from .geometry import BLOCK, PAD, block_from_hand, height, margin, pad_from_block
from .look import (
    HIDDEN,
    Colours,
    Fitted,
    block_corners,
    block_outline,
    block_rotation,
    colours,
    find_block,
    find_middle,
    find_pad,
    pad_outline,
    placed_views,
    red,
)

# Fingers that are so far apart hold nothing: the block's diagonal is 57 mm [m].
LET_GO = 0.060
INSIDE = 2.0  # of the outermost corner within the pad's rim; the tracker may be off by that [mm]
SEEN_INSIDE = 0.5  # the same for cameras, which know how far they may be off themselves [mm]
HIGH = 3.0  # of the block over the bench [mm]
TILT = 6.0  # of the face it lies on [deg]
CLEAR = 60.0  # of the hand over the block; 40 of these are finger and half the block [mm]
STILL = 20.0  # [mm/s]
LAST = 10  # readings that the verdict averages
LONG_ENOUGH = 0.2  # between two looks that tell a speed, at least [s]
FAR = 0.3  # of the block from the pad, from where on nothing is achieved [m]
# By so much both views may be off that agree: more than at any of 150 places, 0.26 mm and 0.92 deg.
TOGETHER = 0.4  # of `inside`, and of where the block is [mm]
TURNED = 1.0  # of the block's tilt [deg]


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
    off = float(np.linalg.norm(pad_from_block(last[-1])[0, :2]))
    return _verdict(off, high > 1e3 * BLOCK / 2, *predicates)


def verify_views(evidence: Evidence) -> Verdict:
    """Return the verdict by the cameras and the hand's pose, once the hand was raised.

    Of a block that fingers hide in part it is told about where it is: high, or not clear.
    """
    views = placed_views(evidence.views, evidence.elapsed)
    seen = [colours(view) for view in views]
    block, pad = find_block([one.block for one in seen]), find_pad(seen)
    inside, inside_off = _seen_inside(block, pad)
    pose, off = np.full(6, np.nan), 1e3 * HIDDEN
    if block is not None:
        pose, off = block.pose, _apart(block)
    elif (middle := find_middle([one.block for one in seen])) is not None:
        pose[:3] = middle
    high, hand = 1e3 * float(pose[2] - BLOCK / 2), _hand_height(evidence.readings[-LAST:])
    speed, speed_off = _seen_speed(evidence, views, block)
    predicates = (
        Predicate("inside", inside, SEEN_INSIDE, "mm", accuracy=inside_off),
        Predicate("high", abs(high), HIGH, "mm", at_least=False, accuracy=off),
        Predicate("tilt", _seen_tilt(block), TILT, "deg", at_least=False, accuracy=TURNED),
        Predicate("clear", 1e3 * (hand - float(pose[2])), CLEAR, "mm", accuracy=off),
        Predicate("still", speed, STILL, "mm/s", at_least=False, accuracy=speed_off),
    )
    away = np.nan if pad is None else float(np.linalg.norm(pad.pose - pose[:2]))
    verdict = _verdict(away, high > 1e3 * BLOCK / 2, *predicates)
    return replace(verdict, frames=tuple(_frame(one, block, pad) for one in seen))


def _tilt(readings: Sequence[Readings]) -> float:
    """How far the face that the block lies on is off the horizontal, on average [deg]."""
    upright = float(np.mean([abs(r.rotation[0, 0, 2]).max() for r in readings]))
    return float(np.degrees(np.arccos(min(1.0, upright))))


def _seen_tilt(block: Fitted | None) -> float:
    """The same of what cameras see; not a number if they do not [deg]."""
    if block is None:
        return np.nan
    upright = float(abs(block_rotation(block.pose)[2]).max())
    return float(np.degrees(np.arccos(min(1.0, upright))))


def _speed(positions: FloatArray, period: float) -> float:
    """Return the speed of positions (n, 3) [m] that are one `period` apart [s], in mm/s."""
    if len(positions) < 2:
        return 0.0
    span = period * np.arange(len(positions))
    return 1e3 * float(np.linalg.norm(np.polyfit(span, positions, 1)[0]))


def _verdict(off: float, lifted: bool, *predicates: Predicate) -> Verdict:
    """Success if all of them pass; else how far it came, and what is missing.

    off: of the block from the pad [m], not a number if nobody knows. lifted: off the bench.
    """
    failed = [p for p in predicates if not p.holds]
    unsure = predicates[0].state is PredicateState.UNSURE
    stage = "held" if lifted else "unsure" if unsure else "beside"
    score = 0.0 if np.isnan(off) else float(np.clip(0.9 - off / FAR, 0.0, 0.9))
    return Verdict(
        outcome=Outcome.FAILURE if failed else Outcome.SUCCESS,
        predicates=predicates,
        score=score if failed else 1.0,
        stage=stage if failed else "placed",
        reason="; ".join(p.reason for p in failed),
    )


def _hand_height(readings: Sequence[Readings]) -> float:
    """The grasp point's height over the bench, on average [m]."""
    return float(np.mean([r.hand_position[0, 0, 2] for r in readings]))


def _seen_inside(block: Fitted | None, pad: Fitted | None) -> tuple[float, float]:
    """How far within the rim the outermost lower corner is, and how far that may be off [mm].

    What fits both views may be as wrong as one of them is.
    """
    if block is None or pad is None:
        return np.nan, np.nan
    inside = _margin(block.pose, pad.pose)
    alone = [_margin(*one) for one in zip(block.alone, pad.alone, strict=True)]
    return inside, float(np.hypot(TOGETHER, max(abs(one - inside) for one in alone)))


def _margin(block: FloatArray, pad: FloatArray) -> float:
    """How far within a pad's rim the outermost lower corner of a block is [mm]."""
    corners = block_corners(block)
    lower = corners[np.argsort(corners[:, 2])[:4], :2]
    return 1e3 * (PAD - float(np.linalg.norm(lower - pad, axis=1).max()))


def _apart(fitted: Fitted) -> float:
    """How far a place that both views show may be off [mm]."""
    apart = np.linalg.norm(fitted.alone[:, :2] - fitted.pose[:2], axis=1).max()
    return float(np.hypot(TOGETHER, 1e3 * apart))


def _seen_speed(
    evidence: Evidence, views: Sequence[CameraView], block: Fitted | None
) -> tuple[float, float]:
    """The block's speed since the cameras looked before, and how far it may be off [mm/s]."""
    if block is None or not evidence.watched:
        return np.nan, np.nan
    before = evidence.watched[-1]
    cameras = {view.camera.name: view.camera for view in views}  # they have not moved since
    then = fresh(before.views, before.at * evidence.period)
    moved = [replace(v, camera=cameras[v.camera.name]) for v in then if v.camera.name in cameras]
    was = find_block(red(moved), near=block.pose)
    if was is None:
        return np.nan, np.nan
    span = float(np.mean([v.stamp for v in views]) - np.mean([v.stamp for v in moved]))
    if span < LONG_ENOUGH:
        return np.nan, np.nan
    way = 1e3 * float(np.linalg.norm(block.pose[:3] - was.pose[:3]))
    return way / span, (_apart(block) + _apart(was)) / span


def _frame(seen: Colours, block: Fitted | None, pad: Fitted | None) -> Frame:
    """What was recognised in one view."""
    camera = seen.block.view.camera
    outlines = [] if block is None else [block_outline(camera, block.pose)]
    outlines += [] if pad is None else [pad_outline(camera, pad.pose)]
    return overlay(seen.both, outlines)
