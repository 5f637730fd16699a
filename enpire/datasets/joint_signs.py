"""Signs that joint positions are of another zero, rate or moment than they say; each is told.

An arm comes after its leader, and by how much is known of its twin. A zero that is turned moves
where an axis begins, while the others begin where they do in the task.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from enpire.datasets.other_episodes import follows_after, run_backwards
from enpire.datasets.starts import HELD, Onlooker, look_on
from enpire.environment import Readings, Stations
from enpire.types import Float32Array, FloatArray

Followed = Sequence[tuple[FloatArray, FloatArray]]
"""Of each episode where axes were and where they were sent, (t, axes) both."""

EPISODES, PERIODS = 12, 50  # of the twin's own motion
EARLY, LATE = 0.15, 0.6  # how far before its leader an arm may seem to be, and behind [s]
PLAIN = 0.5  # correlation of the two from which it is known
TIMES = 1.6  # as long as in the twin, or as short
TURNED = 0.17  # from the task's own starts [rad]
SURE = 4.0  # standard errors
FEWEST, AXES = 5, 2  # episodes; axes that are off at most: more of them are another posture
ROWS = 100  # frames


class _Moves(Onlooker):
    """Acts at random, and keeps where axes are and where they were sent."""

    def __init__(self, stations: Stations) -> None:
        super().__init__(stations.action_size, np.random.default_rng(0), PERIODS, HELD)
        self._stations = stations
        self.measured: list[FloatArray] = []
        self.wanted: list[FloatArray] = []

    def act(self, rows: object, observations: Float32Array, readings: Readings) -> Float32Array:
        """See `Onlooker`."""
        self.measured.append(readings.axes[0].astype(np.float64).ravel())
        self.wanted.append(self._stations.control.command[0].astype(np.float64).ravel())
        return super().act(rows, observations, readings)


def moved_about(stations: Stations) -> Followed:
    """Move a station's arms about in some episodes.

    Args:
        stations: On which no episode is under way.

    Returns:
        Where axes were and where they were sent in each that began, a row per control period.
    """
    moves = [_Moves(stations) for _ in range(EPISODES)]
    look_on(stations, moves)
    # Where it is sent in a period is read in the next one.
    return [
        (np.array(each.measured[:-1]), np.array(each.wanted[1:]))
        for each in moves
        if len(each.measured) > 1
    ]


def odd_joints(
    recorded: Followed, hz: float, own: Followed, own_hz: float, names: Sequence[str]
) -> str:
    """Find what joint positions say otherwise than the task's own arms.

    Args:
        recorded: Of the dataset, joints [rad].
        hz: Its frames a second.
        own: Of the task's twin, as `moved_about` has it.
        own_hz: Its control periods a second.
        names: Of the axes that both have, in their order.

    Returns:
        A clause, for a person; empty where nothing is odd.
    """
    told = [
        _out_of_time(recorded, hz, own, own_hz),
        _turned(recorded, own, names),
        _backwards(recorded),
    ]
    return "; ".join(text for text in told if text)


def behind(pairs: Followed, hz: float) -> float | None:
    """Return how long after its leader an arm moves [s]; None where that is not plain."""
    delays = range(-round(EARLY * hz) - 1, round(LATE * hz) + 2)
    fits = np.array([follows_after(pairs, delay) for delay in delays])
    best = int(fits.argmax())
    if fits[best] < PLAIN or not 0 < best < len(fits) - 1:
        return None
    before, here, after = fits[best - 1 : best + 2]
    bent = before - 2 * here + after
    between = 0.5 * (before - after) / bent if bent < 0 else 0.0
    return float((delays[best] + between) / hz)


def _out_of_time(recorded: Followed, hz: float, own: Followed, own_hz: float) -> str:
    if sum(len(measured) for measured, _ in recorded) < ROWS:
        return ""
    here, there = behind(recorded, hz), behind(own, own_hz)
    if here is None or there is None or there <= 0 or there / TIMES < here < there * TIMES:
        return ""
    return (
        f"the arm follows its leader after {here:.2g} s, and in the twin after {there:.2g} s: "
        "another rate than the dataset says, or actions that were written late or early?"
    )


def _turned(recorded: Followed, own: Followed, names: Sequence[str]) -> str:
    if min(len(recorded), len(own)) < FEWEST:
        return ""
    here, there = (np.array([measured[0] for measured, _ in each]) for each in (recorded, own))
    off = here.mean(axis=0) - there.mean(axis=0)
    error = np.sqrt(here.var(axis=0) / len(here) + there.var(axis=0) / len(there))
    turned = np.abs(off) > np.maximum(TURNED, SURE * error)
    if not 0 < turned.sum() <= AXES:
        return ""
    axis = int(np.argmax(np.where(turned, np.abs(off), 0)))
    return (
        f"{names[axis]} begins {np.degrees(off[axis]):+.0f} degrees from where it does in the "
        "task, and other axes do not: another zero?"
    )


def _backwards(recorded: Followed) -> str:
    found = run_backwards([(sent, where) for where, sent in recorded])
    if not found:
        return ""
    return (
        f"{len(found)} of {len(recorded)} episodes (the first in its order: {found[0]}) in which "
        "the arm moves before its leader, and after it in the others: backwards in time?"
    )
