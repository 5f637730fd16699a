"""Angles that a task shows by their cosine and sine, held against how its actions turn them.

Neither of the two says much by itself: it goes up and down with the angle. Together they tell an
angle in another scale, or of the other sense. What is odd is told.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from enpire.datasets.compatibility import TaskInterface
from enpire.datasets.strides import (
    ROWS,
    SEEN,
    STRETCHED,
    STRIDE,
    Pairs,
    Strides,
    correlations,
    leading,
)
from enpire.types import FloatArray

COSINE, SINE = "_cos", "_sin"


def odd_angles(theirs: Pairs, wanted: TaskInterface) -> list[str]:
    """Find angles that actions turn otherwise than in the task.

    A clause about each, for a person; arguments as of `odd_strides`.
    """
    places = angle_places(wanted.observation)
    ours, here = (Strides.of(_with_angles(pairs, places)) for pairs in (wanted.random, theirs))
    if not places or min(len(ours), len(here)) < ROWS:
        return []
    told: list[str] = []
    for action, angle in _turning(ours):
        names = [wanted.observation[place] for place in places[angle]]
        turns = f"{wanted.action[action]} turns the angle of {names[0]} and {names[1]}"
        mine, found = (
            float(correlations(each.pushes[:, [action]], each.ways[:, [angle]])[0, 0])
            for each in (ours, here)
        )
        if found * np.sign(mine) <= -SEEN:
            told.append(
                f"{turns} the other way than in {wanted.task} (correlation {found:.2f}, there "
                f"{mine:.2f}): sine and cosine exchanged, or another sign?"
            )
        if found * np.sign(mine) < SEEN:
            continue
        times = found * here.slope(action, angle) / (mine * ours.slope(action, angle))
        if not 1 / STRETCHED < times < STRETCHED:
            told.append(
                f"over {STRIDE} frames {turns} {times:.2g} times as far as in {wanted.task}: the "
                "sine of another angle, or another scale?"
            )
    return told


def angle_places(names: Sequence[str]) -> tuple[tuple[int, int], ...]:
    """Find where a cosine stands, and the sine of the same angle."""
    at = {name: place for place, name in enumerate(names)}
    return tuple(
        (place, at[sine])
        for name, place in at.items()
        if name.endswith(COSINE) and (sine := name.removesuffix(COSINE) + SINE) in at
    )


def _with_angles(pairs: Pairs, places: Sequence[tuple[int, int]]) -> Pairs:
    """Return each episode's actions (t, act), and its angles (t, angles) [rad]."""
    return [(actions, _angles(seen, places)) for actions, seen in pairs]


def _angles(seen: FloatArray, places: Sequence[tuple[int, int]]) -> FloatArray:
    every = [np.unwrap(np.arctan2(seen[:, sine], seen[:, cosine])) for cosine, sine in places]
    return np.column_stack(every) if every else np.zeros((len(seen), 0))


def _turning(ours: Strides) -> list[tuple[int, int]]:
    """Return each action that surely turns an angle in the task, most of all, and that angle."""
    turned = Strides(ours.ways, ours.pushes)  # the other way about: an angle, and who turns it
    return [(action, angle) for angle, action in leading(turned)]
