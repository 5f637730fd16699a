"""What success is: the block covers the outline, on the bench, still, and no hand is near."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from enpire.environment import Evidence, Readings, overlay
from enpire.types import Outcome, Predicate, PredicateState, Verdict

from .geometry import CLEAR, HEIGHT, block_pose, mean_pose, overlap
from .look import blue, find_block, outlines
from .marks import MARKS

COVERED = 0.90  # of the outline is a success
SEEN_COVERED = 0.9017  # what the tracker is to see: one standard deviation of its error more
TOGETHER = 0.0009  # of the covered share: what both views may be off, two standard deviations
STILL = 10.0  # [mm/s]
FLAT = 5.0  # [deg]
OFF_BENCH = 4.0  # of a block's middle from where it is on the bench [mm]
LAST = 25  # readings with the hand clear that the verdict averages


def verify(evidence: Evidence) -> Verdict:
    """Return the verdict by the tracker and the hand's pose."""
    last = evidence.readings[-LAST:]
    poses = np.array([block_pose(r)[0] for r in last])
    span = evidence.period * np.arange(len(last))
    speed = np.polyfit(span, poses[:, :2], 1)[0] if len(last) > 1 else np.zeros(2)
    upright = min(1.0, float(np.mean([abs(r.rotation[0, :, 2, 2].mean()) for r in last])))
    high = float(np.mean([r.position[0, :, 2].mean() for r in last])) - HEIGHT / 2
    return _verdict(
        Predicate("covered", overlap(mean_pose(poses)), SEEN_COVERED, ""),
        _clear(last),
        Predicate("still", 1e3 * float(np.linalg.norm(speed)), STILL, "mm/s", at_least=False),
        Predicate("flat", float(np.degrees(np.arccos(upright))), FLAT, "deg", at_least=False),
        Predicate("on_bench", 1e3 * abs(high), OFF_BENCH, "mm", at_least=False),
    )


def verify_views(evidence: Evidence) -> Verdict:
    """Return the verdict by the cameras and the hand's pose.

    A block that does not lie flat on the bench is none that the fit knows: then it is unsure. What
    nothing has touched for `LAST` readings is still.
    """
    seen = blue(evidence.views, evidence.elapsed)
    stood = [replace(one, view=view) for one in seen if (view := MARKS.placed(one.view))]
    block = find_block(stood)
    covered = np.nan if block is None else overlap(block.pose)
    alone = [covered] if block is None else [overlap(pose) for pose in block.alone]
    apart = max(abs(one - covered) for one in alone)
    # What fits both may be as wrong as one view is: with a picture of a success before one camera
    # 0.980 was told of a block that covered 0.869.
    off = float(np.hypot(TOGETHER, apart))
    verdict = _verdict(
        Predicate("covered", covered, COVERED, "", accuracy=off),
        _clear(evidence.readings[-LAST:]),
    )
    frames = tuple(
        overlay(one, [] if block is None else outlines(one.view.camera, block.pose))
        for one in (seen if block is None else stood)
    )
    return replace(verdict, frames=frames)


def height(readings: Readings) -> float:
    """Return the hand's height over the bench [m]."""
    return float(readings.hand_position[0, 0, 2])


def _clear(readings: Sequence[Readings]) -> Predicate:
    """The hand was out of the block's way in all of them."""
    return Predicate("clear", 1e3 * min(height(r) for r in readings), 1e3 * CLEAR, "mm")


def _verdict(covered: Predicate, *others: Predicate) -> Verdict:
    """Success if all of them pass; else how far it came, and what is missing."""
    predicates = (covered, *others)
    failed = [p for p in predicates if not p.holds]
    share, unsure = covered.value, covered.state is PredicateState.UNSURE
    stage = "apart" if share < 0.3 else "near" if share < 0.7 else "covering"
    return Verdict(
        outcome=Outcome.FAILURE if failed else Outcome.SUCCESS,
        predicates=predicates,
        score=0.0 if unsure else min(share / covered.threshold, 1.0),
        stage="unsure" if unsure else stage if failed else "covered",
        reason="; ".join(p.reason for p in failed),
    )
