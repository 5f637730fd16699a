"""Episodes whose actions move things otherwise than in the task and in the dataset's others.

How far an action moves an entry is known from the task's own random motion. So few episodes do,
where `outlying_episodes` needs many. Whatever stands out is told.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from enpire.datasets.compatibility import TaskInterface
from enpire.datasets.folder import Frames
from enpire.datasets.other_episodes import OTHERS, clause, long_enough
from enpire.datasets.strides import ROWS, Pairs, Strides, leading
from enpire.types import Flags, FloatArray

TEN = 10  # one of so many episodes may stand out, or one of fewer
LED, AGAINST = 0.8, -0.5  # correlations: usual, and of an episode that goes the other way
PUSHED = 0.3  # of the usual: how much is to be asked of an entry, for its way to say something
FAST, FASTEST, EACH = 1.7, 2.6, 1.4  # times as far as usual: in the middle, at most, and each
CLEARLY, USUAL, AXES = 0.7, 1.2, 2  # its least correlation; times of all others; entries that tell


def against_task(
    frames: Frames, pairs: Pairs, wanted: TaskInterface, back: Sequence[int]
) -> tuple[tuple[str, ...], list[int]]:
    """Find such episodes; back: those that run backwards, which are told already.

    Returns:
        A clause about each kind, and the rows of these episodes.
    """
    rows = [row for row in long_enough(pairs) if row not in back]
    ours = Strides.of(wanted.random)
    if len(rows) <= OTHERS or len(ours) < ROWS or not (found := leading(ours)):
        return (), []
    fit = TaskFit.of([pairs[row] for row in rows], ours, found)
    told: list[tuple[list[int], str]] = []
    mirrored = fit.mirrored()
    for row, at in np.argwhere(mirrored)[:1].tolist():
        what = (
            f"in which actions move {wanted.observation[found[at][1]]} the other way than in the "
            f"others (correlation {fit.along[row, at]:.2f} with {wanted.action[found[at][0]]}, "
            f"there {np.median(fit.along[:, at]):.2f}): mirrored?"
        )
        told.append((np.flatnonzero(mirrored.any(axis=1)).tolist(), what))
    if len(fast := np.flatnonzero(fit.hurried())):
        times = fit.times()[fast[0]]
        what = (
            f"in which actions move all {times:.2g} times as far as in the others: frames that "
            "were left out, or another rate?"
        )
        told.append((fast.tolist(), what))
    odd = [([rows[i] for i in each], what) for each, what in told]
    said = tuple(clause(frames, each, what) for each, what in odd)
    return said, [row for each, _ in odd for row in each]


@dataclass(frozen=True, slots=True)
class TaskFit:
    """How entries go with the action that moves them in the task, in each episode.

    All (episodes, leads). along: Correlations, without what the other actions do. gains: How many
    times as far as in the task. sizes: How far they were to go.
    """

    along: FloatArray
    gains: FloatArray
    sizes: FloatArray

    @classmethod
    def of(cls, pairs: Pairs, ours: Strides, leads: Sequence[tuple[int, int]]) -> TaskFit:
        """Fit episodes of (actions, observations) to the task's motion; leads: (action, entry)."""
        actions, entries = (list(each) for each in zip(*leads, strict=True))
        weights = np.linalg.lstsq(ours.pushes, ours.ways[:, entries], rcond=None)[0]
        own = weights[actions, range(len(leads))]
        found = []
        for pair in pairs:
            here = Strides.of([pair])
            due = own * here.pushes[:, actions]
            went = here.ways[:, entries] - here.pushes @ weights + due
            found.append([(due * went).mean(axis=0), (due**2).mean(0), (went**2).mean(0)])
        both, due_, went_ = np.array(found).transpose(1, 0, 2)
        still = np.zeros_like(both)
        return cls(
            np.divide(both, np.sqrt(due_ * went_), out=still.copy(), where=due_ * went_ > 0),
            np.divide(both, due_, out=still, where=due_ > 0),
            np.sqrt(due_),
        )

    def mirrored(self) -> Flags:
        """Find entries that clearly go the other way in one episode of ten, (episodes, leads)."""
        odd = (self.along <= AGAINST) & (self.sizes > PUSHED * np.median(self.sizes, axis=0))
        others = np.where(odd, np.inf, self.along).min(axis=0)
        odd &= (np.median(self.along, axis=0) >= LED) & (others >= 0.0)
        return np.asarray(odd & _few(odd.any(axis=1)))

    def times(self) -> FloatArray:
        """How many times as far as usual what surely follows goes, in the middle, (episodes,)."""
        rates = self._rates()
        return np.median(rates, axis=1) if rates.shape[1] else np.ones(len(rates))

    def hurried(self) -> Flags:
        """Find an episode of ten in which all goes about twice as far, (episodes,)."""
        rates, times, known = self._rates(), self.times(), self._known()
        if known.sum() < AXES:
            return np.zeros(len(times), bool)
        odd = (times > FAST) & (times < FASTEST) & (rates.min(axis=1) > EACH)
        odd &= self.along[:, known].min(axis=1) >= CLEARLY
        return np.asarray(odd & (_few(odd) and (times[~odd] < USUAL).all()))

    def _known(self) -> Flags:
        return np.asarray(np.median(self.along, axis=0) >= LED)

    def _rates(self) -> FloatArray:
        known = self.gains[:, self._known()]
        rates: FloatArray = known / np.median(known, axis=0)
        return rates


def _few(odd: Flags) -> bool:
    return bool(odd.sum() <= max(1, len(odd) // TEN))
