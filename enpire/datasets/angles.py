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
SHORT, SEVERAL = 0.1, 0.02  # of a length of 1; share of frames in which it is not


def odd_angles(theirs: Pairs, wanted: TaskInterface) -> list[str]:
    """Find angles that actions turn otherwise than in the task.

    A clause about each, for a person; arguments as of `odd_strides`.
    """
    places = angle_places(wanted.observation)
    told = _lengths(theirs, wanted, places)
    ours, here = (Strides.of(_with_angles(pairs, places)) for pairs in (wanted.random, theirs))
    if not places or min(len(ours), len(here)) < ROWS:
        return told
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


def _lengths(theirs: Pairs, wanted: TaskInterface, places: Sequence[tuple[int, int]]) -> list[str]:
    """Find cosines and sines that are none: their squares sum to one, if they do in the task."""
    told: list[str] = []
    for cosine, sine in places:
        ours, here = (
            np.concatenate([np.hypot(seen[:, cosine], seen[:, sine]) for _, seen in pairs])
            if pairs
            else np.zeros(0)
            for pairs in (wanted.random, theirs)
        )
        off = np.abs(here - 1.0) > SHORT
        if len(ours) and np.abs(ours - 1.0).max() < SHORT / 2 and off.mean() > SEVERAL:
            names = f"{wanted.observation[cosine]} and {wanted.observation[sine]}"
            told.append(
                f"{names} are of length {np.median(here[off]):.2g} in {off.mean():.0%} of the "
                "frames, and of one angle it is 1: scaled, averaged, or of two angles?"
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
