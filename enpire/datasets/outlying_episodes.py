"""Episodes that stand out from all others of their dataset, by its own numbers alone.

One of many is mirrored, replayed too fast, recorded from another origin, or noisier. What actions
move, and how far, is known from the others: no task is needed. Whatever stands out is told.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from enpire.datasets.compatibility import TaskInterface
from enpire.datasets.folder import Frames
from enpire.datasets.other_episodes import clause, long_enough
from enpire.datasets.strides import BEHIND, STRIDE, Pairs, Strides
from enpire.types import Flags, FloatArray

FEWEST, SHARE = 10, 3  # episodes; one in so many may stand out: more of them are another habit
MOVES = 1e-6  # by which what moves goes, in the mean
LED, EXACT = 0.8, 0.95  # correlations of an entry with its actions: it follows them, and exactly
MIRRORED, PLAIN = -0.8, 0.3  # correlations of one that is turned over, and of all others
LOOSE, TIGHT = 0.2, 0.6  # correlations of one that does not follow, and of all others
SAME, PUSHED = 1.6, 0.3  # times as far as it was to go; the usual share that it was to go
ALIKE, USUAL = 1.15, 1.25  # times as far, of three quarters of episodes, and of all but fast ones
FAST, SLOW = 1.6, 0.55  # times as far for the same actions
BESIDE = 1.5  # times what all others go through
WANDERS = 0.3  # share of what all go through, in each episode
NOISY, TINY = 4.0, 0.005  # times the noise of all others; share of what an entry goes through
PART = 3  # one in so many of the entries that change has more noise


def outlying(
    frames: Frames, pairs: Pairs, wanted: TaskInterface, known: Sequence[int]
) -> tuple[str, ...]:
    """Find what stands out, a clause about each kind; known: rows of which it is told already."""
    rows = long_enough(pairs)
    if len(rows) < FEWEST:
        return ()
    some = [pairs[i] for i in rows]
    fit, seen = EpisodeFit.of(some), [each for _, each in some]
    apart, pace, noise = fit.elsewhere(seen), fit.paces(), noisier(seen)
    before = np.isin(rows, known)
    pace[before] = 1.0
    told = [
        (
            pace != 1.0,
            f"in which actions move all {pace[np.abs(np.log(pace)).argmax()]:.2g} times as far as "
            "in the others: frames that were left out or filled in, or another rate?",
        ),
        (
            noise > 1,
            f"with {noise.max():.2g} times the noise of any other: another sensor, or an arm that "
            "trembles?",
        ),
    ]
    for odd, how, why in (
        (fit.mirrored(), "the other way than", "mirrored"),
        (fit.loose(), "not as", "actions or what is seen of another episode, or another order"),
    ):
        odd[before] = False
        for row, entry in np.argwhere(odd)[:1].tolist():
            what = (
                f"in which actions move {wanted.observation[entry]} {how} in the others "
                f"(correlation {fit.along[row, entry]:.2f}): {why}?"
            )
            told.append((np.asarray(odd.any(axis=1)), what))
    for row, entry in np.argwhere(apart)[:1].tolist():
        others = [each for each, off in zip(seen, apart[:, entry], strict=True) if not off]
        what = (
            f"in which {wanted.observation[entry]} is at {_span(seen[row][:, entry])}, and at "
            f"{_span(np.concatenate(others)[:, entry])} in the others: another origin?"
        )
        told.append((np.asarray(apart.any(axis=1)), what))
    return tuple(clause(frames, [rows[i] for i in np.flatnonzero(odd)], what) for odd, what in told)


@dataclass(frozen=True, slots=True)
class EpisodeFit:
    """How what is seen goes with what its actions do in all other episodes, over a stride.

    along: Correlations, (episodes, obs). gains: How many times as far. sizes: How far it was to go.
    """

    along: FloatArray
    gains: FloatArray
    sizes: FloatArray

    @classmethod
    def of(cls, pairs: Pairs) -> EpisodeFit:
        """Fit all but one, for each; actions (t, act) and observations (t, obs) of each episode."""
        strides = [Strides.of([pair]) for pair in pairs]
        ways = [each.ways for each in strides]
        asked = [
            np.hstack([each.pushes, *_changes(actions)])
            for each, (actions, _) in zip(strides, pairs, strict=True)
        ]
        squares = np.array([each.T @ each for each in asked])
        products = np.array([a.T @ w for a, w in zip(asked, ways, strict=True)])
        inverses = np.linalg.pinv(squares.sum(axis=0) - squares, rcond=MOVES, hermitian=True)
        weights = inverses @ (products.sum(axis=0) - products)
        due = [a @ w for a, w in zip(asked, weights, strict=True)]
        sizes, went = (np.array([_size(each) for each in some]) for some in (due, ways))
        moves = (sizes > MOVES) & (went > MOVES)
        both = np.array([(d * w).mean(axis=0) for d, w in zip(due, ways, strict=True)])
        along, gains = (
            np.divide(both, sizes * other, out=np.zeros_like(both), where=moves)
            for other in (went, sizes)
        )
        usual = np.median(gains, axis=0)
        return cls(along, np.divide(gains, usual, out=0 * gains, where=usual > 0), sizes)

    def mirrored(self) -> Flags:
        """Find entries that go as far as in the others, and the other way, (episodes, obs)."""
        over = (self.along <= MIRRORED) & (-self.gains < SAME) & (-self.gains > 1 / SAME)
        return self._unlike(over, LED, PLAIN)

    def loose(self) -> Flags:
        """Find entries that do not go with their actions, most that exactly do in the others.

        One alone may have been held back.
        """
        known = self._follow(EXACT)
        odd = self._unlike(self.along < LOOSE, EXACT, TIGHT)
        several = odd.sum(axis=1, keepdims=True) > max(1, known.sum() // 2)
        return np.asarray(odd & several)

    def _unlike(self, odd: Flags, usual: float, others: float) -> Flags:
        """Of odd entries, those that are to move in few episodes, and that follow in the others."""
        odd = odd & (self.sizes > PUSHED * np.median(self.sizes, axis=0))
        least = np.where(odd, np.inf, self.along).min(axis=0)
        few = odd.sum(axis=0) <= len(odd) // FEWEST
        return np.asarray(odd & self._follow(usual) & (least >= others) & few)

    def paces(self) -> FloatArray:
        """How many times as far all goes that exactly follows its actions, (episodes,); or 1."""
        off = np.abs(np.log(self.gains.clip(MOVES)))
        exact = self._follow(EXACT) & (np.sort(off, axis=0)[_usual(len(off))] < np.log(ALIKE))
        if not exact.any():
            return np.ones(len(off))
        gains, led = self.gains[:, exact], self.gains[:, self._follow(LED)]
        times = np.median(gains, axis=1)
        fast = (times > FAST) & (np.quantile(led, 0.25, axis=1) > USUAL)
        # One that is slow may be held back: then it does not follow as exactly.
        free = (self.along[:, exact] >= EXACT).all(axis=1) & (gains.max(axis=1) < ALIKE * times)
        free &= gains.shape[1] > 1
        odd = fast | ((times < SLOW) & free & (gains.min(axis=1) > times / ALIKE))
        known = _few(odd) and times[~odd].max(initial=0.0) < USUAL
        return np.where(odd & known, times, 1.0)

    def elsewhere(self, seen: Sequence[FloatArray]) -> Flags:
        """Find entries that move, and are far beside where all others are, (episodes, obs)."""
        low, high = (np.array([end(each, axis=0) for each in seen]) for end in (np.min, np.max))
        middle = (low + high) / 2
        far = np.abs(middle - np.median(middle, axis=0))
        apart = far > np.sort(far, axis=0)[_usual(len(far))]
        for _ in range(2):  # beside most of them, and beside all that are not
            lowest = np.where(apart, np.inf, low).min(axis=0)
            highest = np.where(apart, -np.inf, high).max(axis=0)
            gap = np.maximum(low - highest, lowest - high)
            apart = gap > BESIDE * (highest - lowest)
        # What else moves has to wander in each episode: a switch may be at its other end.
        wander = np.median(high - low, axis=0) > WANDERS * (highest - lowest)
        wander &= apart.sum(axis=0) <= len(far) // FEWEST
        return np.asarray(apart & (self._follow(LED) | wander))

    def _follow(self, least: float) -> Flags:
        return np.asarray(np.median(self.along, axis=0) >= least)


def noisier(seen: Sequence[FloatArray]) -> FloatArray:
    """How many times the noise of all others much of what changes has, (episodes,); or 1."""
    # A third difference has next to nothing of a smooth motion, and its median no contact.
    noise = np.array([np.median(np.abs(np.diff(each, n=3, axis=0)), axis=0) for each in seen])
    size = np.ptp(np.concatenate(seen), axis=0)
    least = TINY * size / NOISY
    usual = np.sort(noise, axis=0)[_usual(len(noise))].clip(least)
    others = np.where(noise > NOISY * usual, 0.0, noise).max(axis=0).clip(least)
    loud = noise > NOISY * others
    times = np.divide(noise, others, out=np.ones_like(noise), where=others > 0)
    several = loud.sum(axis=1) > (size > MOVES).sum() / PART
    return np.array(
        [np.median(t[n]) if s else 1.0 for t, n, s in zip(times, loud, several, strict=True)]
    )


def _changes(actions: FloatArray) -> Iterator[FloatArray]:
    """How places that are asked for change over each stride, which are come to at once or late."""
    late = np.concatenate([actions[:1].repeat(BEHIND, axis=0), actions[:-BEHIND]])
    for each in (actions, late):
        yield each[STRIDE:] - each[:-STRIDE]


def _span(values: FloatArray) -> str:
    return f"{values.min():.3g} to {values.max():.3g}"


def _size(ways: FloatArray) -> FloatArray:
    size: FloatArray = np.sqrt((ways**2).mean(axis=0))
    return size


def _few(odd: Flags) -> Flags:
    return np.asarray(odd.sum(axis=0) <= len(odd) // SHARE)


def _usual(episodes: int) -> int:
    """Return how many of so many, from 0, are below the few that may stand out."""
    return episodes - 1 - episodes // SHARE
