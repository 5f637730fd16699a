"""What the simulator knows of a card: where its edge is, and where without any hand about it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from enpire.twin import Twin
from enpire.types import FloatArray, Predicate

from .frames import LEFT, RIGHT, aside, depth
from .verify import ASIDE, LEVEL, SEATED, UPRIGHT

WIDE = 0.07  # gripper setpoint of hands in which no card leans [m]
STANDS = 250  # simulation steps for which they leave it to itself


def truth(twin: Twin, row: int, sites: NDArray[np.int64]) -> tuple[Predicate, ...]:
    """The conditions of success. sites: the edge's left and right end, the slot's.

    Whether the card stands by itself is tried on a copy of the station, with the hands wide open:
    the verifier's are 3 mm off, and a card could lean on one. That hands held it, and how hard they
    pressed, is past; a wrist above the force limit has ended the episode.
    """
    ends, up = _edge(twin.site_xpos[row, sites], twin.site_xmat[row, sites].reshape(4, 3, 3))
    copy = twin.simulation(row)
    copy.bind("ctrl")[0, [arm.gripper for arm in twin.scene.arms]] = WIDE
    copy.step(nstep=STANDS)
    frames = copy.bind("site_xmat")[0, sites].reshape(4, 3, 3)
    left_alone, _ = _edge(copy.bind("site_xpos")[0, sites], frames)
    step = abs(ends[LEFT, 2] - ends[RIGHT, 2])
    return (
        Predicate("seated", 1e3 * float(depth(ends)), SEATED, "mm"),
        Predicate("stands", 1e3 * float(depth(left_alone)), SEATED, "mm"),
        Predicate("in_slot", 1e3 * float(aside(ends)), ASIDE, "mm", at_least=False),
        Predicate("level", 1e3 * float(step), LEVEL, "mm", at_least=False),
        Predicate(
            "upright",
            float(np.degrees(abs(np.arctan2(up[0], up[2])))),
            float(np.degrees(UPRIGHT)),
            "deg",
            at_least=False,
        ),
    )


def _edge(positions: FloatArray, frames: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The edge's ends from the slot's (2, 3) [m] and where the card's z points, slot's frame."""
    slot = frames[2]
    return (positions[:2] - positions[2:]) @ slot, slot.T @ frames[0, :, 2]
