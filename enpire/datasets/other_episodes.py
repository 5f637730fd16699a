"""What one episode shows otherwise than all others of its dataset, by their own numbers alone.

It needs no task: what an action moves in each other episode is known from these.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from enpire.datasets.folder import Frames
from enpire.datasets.strides import SEEN, STRIDE, SURE, Pairs, Strides, correlations
from enpire.types import FloatArray

OTHERS = 3  # episodes from which what a fourth shows is odd
LONG = 2 * STRIDE  # frames of an episode that says something
PLAIN, LATEST, SOON = 0.5, 10, 4  # correlation from which a delay is known; frames
SAME = 0.97  # correlation of an action that is where an entry is to be
MOST = 0.75  # share of episodes from which one that goes the other way is odd
LATER, CLEAR, BETTER = 3, 0.6, 0.25  # frames; correlation of a delay, and by which it is better
AXES = 2  # that tell it: one alone may have been pushed back
NEARLY = 0.9  # share of episodes whose delays are one, or a frame off
HALF = 0.5  # of how much an action changes in the others


def long_enough(pairs: Pairs) -> list[int]:
    """Find the episodes that are long enough to say something."""
    return [i for i, (actions, _) in enumerate(pairs) if len(actions) > LONG]


def run_backwards(pairs: Pairs) -> list[int]:
    """Find the episodes that run backwards in time, by what their actions do: surely so.

    An action that says how far to go then goes against what it moves. One that says where to be
    comes after what it moves, and in all other episodes before it.
    """
    long = long_enough(pairs)
    if len(long) <= OTHERS:
        return []
    some = [pairs[i] for i in long]
    ways = _after(some) if _places(some) else _against(_moved(some))
    back = np.flatnonzero(ways == -1)
    return [long[i] for i in back] if (ways == 1).mean() >= MOST else []


def out_of_step(pairs: Pairs) -> list[tuple[int, int]]:
    """Find episodes in which all comes sooner or later after its action than in the others.

    Returns:
        Of each its number, and by how many frames it is later: below 0, sooner.
    """
    long = long_enough(pairs)
    if len(long) <= OTHERS:
        return []
    if not (followed := _followed([pairs[i] for i in long])):
        return []
    fits = _fits(followed)
    best, sure = fits.argmax(axis=1), fits.max(axis=1) >= PLAIN
    if sure.sum() <= OTHERS:
        return []
    usual = int(np.median(best[sure]))
    if (np.abs(best[sure] - usual) <= 1).mean() < NEARLY:
        return []
    late = np.abs(best - usual) >= LATER
    late &= (fits.max(axis=1) >= CLEAR) & (fits.max(axis=1) - fits[:, usual] >= BETTER)
    return [(long[row], int(best[row] - usual)) for row in np.flatnonzero(late)]


def stands_still(pairs: Pairs) -> list[tuple[int, int, int]]:
    """Find entries that an action moves in all other episodes, and that stand still in one.

    Returns:
        Of each the episode, the action and the entry.
    """
    long = long_enough(pairs)
    if len(long) <= OTHERS:
        return []
    some = [pairs[i] for i in long]
    spans = np.array([np.ptp(seen, axis=0) for _, seen in some])
    acts = np.array([actions.std(axis=0) for actions, _ in some])
    moved = np.maximum(np.abs(_moved(some)), np.abs(_levels(some)))
    found = []
    for row, entry in np.argwhere(spans == 0.0).tolist():
        others = np.delete(np.arange(len(some)), row)
        if not (spans[others, entry] > 0.0).all():
            continue
        sure = np.median(moved[others, :, entry], axis=0) >= SURE
        asked = acts[row] >= HALF * np.median(acts[others], axis=0)
        found += [(long[row], int(a), entry) for a in np.flatnonzero(sure & asked)[:1]]
    return found


def follows_after(pairs: Pairs, delay: int) -> float:
    """How well all columns of a first array move, so many frames later, as the second's do."""
    sums = np.zeros(3)
    for measured, wanted in pairs:
        moved, sent = np.diff(measured, axis=0), np.diff(wanted, axis=0)
        first, last = max(0, -delay), len(moved) - max(0, delay)
        if last - first < 2:
            continue
        one, other = sent[first:last], moved[first + delay : last + delay]
        sums += (one * other).sum(), (one**2).sum(), (other**2).sum()
    return float(sums[0] / np.sqrt(sums[1] * sums[2])) if sums[1] * sums[2] > 0 else 0.0


def clause(frames: Frames, episodes: list[int], what: str) -> str:
    """Say of some episodes, by their rows, what is odd; nothing of none."""
    if not episodes:
        return ""
    first = frames.extents[episodes[0]].index
    return f"{len(episodes)} of {len(frames.extents)} episodes (the first: {first}) {what}"


def _moved(pairs: Pairs) -> FloatArray:
    """Correlations (episodes, act, obs) of sums of actions with how far entries go meanwhile."""
    strides = [Strides.of([pair]) for pair in pairs]
    return np.array([correlations(each.pushes, each.ways) for each in strides])


def _levels(pairs: Pairs) -> FloatArray:
    """Correlations (episodes, act, obs) of actions with where entries are, then or soon after."""
    found = [
        [correlations(actions[: len(actions) - later], seen[later:]) for later in range(SOON)]
        for actions, seen in pairs
    ]
    return np.take_along_axis(a := np.array(found), np.abs(a).argmax(axis=1)[:, None], 1)[:, 0]


def _against(moved: FloatArray) -> FloatArray:
    """Which way what actions move goes in each episode: 1, -1 as in few others, 0 if unclear."""
    usual = np.median(moved, axis=0)
    along = np.array([moved[:, a, e] * np.sign(usual[a, e]) for a, e in _leading(usual)])
    if len(along) < AXES:
        return np.zeros(len(moved))
    mean = along.mean(axis=0)
    ways: FloatArray = (mean >= SEEN) * 1.0 - ((mean <= -SEEN) & (along < 0.0).all(axis=0))
    return ways


def _places(pairs: Pairs) -> Sequence[tuple[int, int]]:
    """Actions that say where an entry is to be, with that entry."""
    usual = np.median(_levels(pairs), axis=0)
    return [(a, int(usual[a].argmax())) for a in np.flatnonzero(usual.max(axis=1) >= SAME)]


def _leading(usual: FloatArray) -> Sequence[tuple[int, int]]:
    """Each action with the entry that it surely moves most, of correlations (act, obs)."""
    sizes = np.abs(usual)
    found = np.argwhere((sizes >= SURE) & (sizes == sizes.max(axis=1, keepdims=True)))
    return [(int(action), int(entry)) for action, entry in found]


def _followed(pairs: Pairs) -> Pairs:
    """Of each episode what actions lead, and how it would go were it led alone, (t, led) both."""
    if places := _places(pairs):
        actions, entries = (list(each) for each in zip(*places, strict=True))
        return [(seen[:, entries], done[:, actions]) for done, seen in pairs]
    usual = np.median(_moved(pairs), axis=0)
    if not (leading := _leading(usual)):
        return []
    actions, entries = (list(each) for each in zip(*leading, strict=True))
    signs = np.sign(usual[actions, entries])
    steps = np.mean([np.diff(seen[:, entries], axis=0).std(axis=0) for _, seen in pairs], axis=0)
    return [
        (signs * seen[:, entries] / steps, done[:, actions].cumsum(axis=0)) for done, seen in pairs
    ]


def _fits(followed: Pairs) -> FloatArray:
    """How well all follows in each episode, (episodes, delays), from `-LATEST` to `LATEST`."""
    delays = range(-LATEST, LATEST + 1)
    return np.array([[follows_after([pair], delay) for delay in delays] for pair in followed])


def _after(pairs: Pairs) -> FloatArray:
    """Whether entries come after their actions in each episode: 1, before them: -1, unclear: 0."""
    fits = _fits(_followed(pairs))
    ways: FloatArray = np.sign(fits.argmax(axis=1) - LATEST) * (fits.max(axis=1) >= PLAIN)
    return ways
