"""Signs that joint positions, what they were sent to, and what was shown beside them disagree.

Each number is within its range: an axis in radians or of the other sign stays near 0. But where the
hand is follows from joints, and a joint follows its leader. What is odd is told.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from enpire.datasets.joint_signs import ROWS, Followed
from enpire.types import FloatArray

# Of what an entry goes through in a dataset, in half of an episode's frames: one that is surely
# off, or two at once. Whole degrees are within that, and three frames late are not.
OFF, BOTH = 0.4, 0.06
SPREAD = (0.05, 0.95)  # quantiles
MOVES, LEAST = 0.05, 0.02  # a joint moves, at least; and so does one that is sent [rad]
GOING = 0.005  # from one frame to the next: more than a hand trembles [rad]
STANDS = 0.2  # share of frames in which no axis moves, of those in which the arm is sent on
ALONG = 0.3  # correlation below which an axis does not follow
AGAINST, FEW = -0.5, 0.25  # the same in one episode; share of episodes that are odd ones
TIMES = 2.5  # as far as its leader, or as little
LATE = 0.1  # by which an arm comes after its leader, about [s]


def shown_otherwise(
    shown: Sequence[FloatArray], due: Sequence[FloatArray], names: Sequence[str]
) -> str:
    """Find entries that a dataset shows elsewhere than its joint positions have them.

    Args:
        shown: Of each episode what the dataset shows, (t, entries).
        due: What follows from its joint positions, likewise; NaN for an entry that does not.
        names: Of the entries.

    Returns:
        A clause, for a person; empty where they agree.
    """
    every = np.concatenate(list(due))
    entries = np.flatnonzero(np.isfinite(every).all(axis=0))
    if not len(entries):
        return ""
    size = np.ptp(np.quantile(every[:, entries], SPREAD, axis=0), axis=0)
    away = np.array(
        [
            np.median(np.abs(mine[:, entries] - other[:, entries]), axis=0)
            for mine, other in zip(shown, due, strict=True)
        ]
    )
    share = np.where(away > LEAST, away / np.maximum(size, LEAST), 0.0)
    most = np.sort(share, axis=1)[:, ::-1]
    far = most[:, 0] > OFF
    if len(entries) > 1:
        far |= most[:, 1] > BOTH
    found = np.flatnonzero(far)
    if not len(found):
        return ""
    worst = int(share[found].max(axis=0).argmax())
    return (
        f"{names[entries[worst]]} is {away[found, worst].max():.2g} from where joint positions "
        f"have it in {len(found)} of {len(away)} episodes (the first in its order: {found[0]}): "
        "an axis in another unit, of another zero or sign, or joints and what is seen of other "
        "moments?"
    )


def odd_followers(
    recorded: Followed, hz: float, names: Sequence[str], grippers: Sequence[int]
) -> str:
    """Find the axis that does not do what it is sent to.

    Args:
        recorded: Of each episode where axes were and where they were sent, all axes.
        hz: Frames a second.
        names: Of the axes.
        grippers: Which of them hold what is between, and so stop on their way.

    Returns:
        A clause, for a person; empty where each axis follows.
    """
    late = round(LATE * hz)
    pairs = [
        (where[late:], sent[: len(sent) - late]) for where, sent in recorded if len(where) > late
    ]
    if sum(len(where) for where, _ in pairs) < ROWS:
        return ""
    if (share := _standing(recorded)) > STANDS:
        return (
            f"no axis moves in {share:.0%} of the frames in which the arm is sent on: read more "
            "slowly than recorded, and filled up?"
        )
    where, sent = (np.concatenate([pair[i] for pair in pairs]) for i in (0, 1))
    moved, led = (np.ptp(np.quantile(each, SPREAD, axis=0), axis=0) for each in (where, sent))
    for axis, name in enumerate(names):
        stops = axis in grippers
        if moved[axis] > MOVES and led[axis] < moved[axis] / TIMES:
            return _said(name, moved[axis], led[axis], "not recorded, or in another unit?")
        if not stops and led[axis] > MOVES and moved[axis] < led[axis] / TIMES:
            return _said(name, moved[axis], led[axis], "a sensor that stands, or another unit?")
        if stops or min(moved[axis], led[axis]) < MOVES:
            continue
        along = float(np.corrcoef(where[:, axis], sent[:, axis])[0, 1])
        if along < ALONG:
            return (
                f"{name} does not go where it is sent (correlation {along:.2f}): another sign, or "
                "another axis, in one of the two columns?"
            )
    return _alone(pairs, names)


def _alone(pairs: Followed, names: Sequence[str]) -> str:
    """Tell of the axis that does not follow in few of the episodes, and follows in the others."""
    for axis, name in enumerate(names):
        against, unsent, moving = [], [], 0
        for row, (where, sent) in enumerate(pairs):
            one, other = where[:, axis], sent[:, axis]
            if np.ptp(one) <= MOVES:
                continue
            moving += 1
            if np.ptp(other) == 0.0:
                unsent.append(row)
            elif np.ptp(other) > MOVES and float(np.corrcoef(one, other)[0, 1]) < AGAINST:
                against.append(row)
        for found, what in (
            (against, "goes against where it is sent: another sign?"),
            (unsent, "moves, and is sent to one place alone: not recorded?"),
        ):
            if found and len(found) <= FEW * moving:
                return (
                    f"{len(found)} of {len(pairs)} episodes (the first in its order: {found[0]}) "
                    f"in which {name} {what}"
                )
    return ""


def _standing(recorded: Followed) -> float:
    """Return the share of frames in which nothing moves, of those within a motion."""
    still, going = [], []
    for where, sent in recorded:
        steps = (np.diff(where, axis=0) != 0).any(axis=1)
        going.append(np.abs(np.diff(sent, axis=0)).max(axis=1) > GOING)
        still.append(~steps)
    on = np.concatenate(going)
    return float(np.concatenate(still)[on].mean()) if on.any() else 0.0


def _said(name: str, moved: float, led: float, why: str) -> str:
    return f"{name} moves by {moved:.2g} rad, and is sent over {led:.2g} rad: {why}"
