"""What the simulator knows of a card: where its edge is, and where without any hand about it."""

from __future__ import annotations

import numpy as np
from scipy.spatial.transform import Rotation

from enpire.twin import Twin
from enpire.types import FloatArray, Predicate

from .frames import HALF, LEFT, RIGHT, aside, depth
from .verify import ASIDE, LEVEL, SEATED, UPRIGHT

WIDE = 0.07  # gripper setpoint of hands in which no card leans [m]
STANDS = 250  # simulation steps for which they leave it to itself


def truth(twin: Twin, row: int) -> tuple[Predicate, ...]:
    """The conditions of success.

    Whether the card stands by itself is tried on a copy of the station, with the hands wide open:
    the verifier's are 3 mm off, and a card could lean on one. That hands held it, and how hard they
    pressed, is past; a wrist above the force limit has ended the episode.
    """
    slot = twin.model.site("task_slot").id
    at = twin.model.joint("task_card").qposadr[0]
    mouth, frame = twin.site_xpos[row, slot], twin.site_xmat[row, slot].reshape(3, 3)
    ends, up = _edge(twin.qpos[row, at : at + 7], mouth, frame)
    copy = twin.simulation(row)
    copy.bind("ctrl")[0, [arm.gripper for arm in twin.scene.arms]] = WIDE
    copy.step(nstep=STANDS)
    left_alone, _ = _edge(copy.bind("qpos")[0, at : at + 7], mouth, frame)
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


def _edge(card: FloatArray, mouth: FloatArray, slot: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The edge's ends from the slot's (2, 3) [m] and where the card's z points, slot's frame."""
    turn = slot.T @ Rotation.from_quat(card[3:], scalar_first=True).as_matrix()
    end = HALF * (turn[:, 1] - (0.0, 1.0, 0.0))
    middle = slot.T @ (card[:3] - mouth)
    return np.stack([middle + end, middle - end]), turn[:, 2]
