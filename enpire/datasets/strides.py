"""How things move over several frames of a dataset, held against how they move in its task.

From one frame to the next noise and latency hide what an action does. Over a stride of some frames
they hardly count: a hand goes as far as its actions say, whoever moves it. So a stride tells
another scale, rate or order where a single frame does not. What is odd is told.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from enpire.datasets.compatibility import FEWEST, TaskInterface
from enpire.datasets.folder import Frames
from enpire.types import FloatArray

Pairs = Sequence[tuple[FloatArray, FloatArray]]
STRIDE = 10  # frames
SURE, SEEN = 0.8, 0.5  # correlations of an action with what it moves: in the task, in a dataset
STRETCHED = 1.7  # times as far as in the task; its own demonstrations are at 1.0 to 1.5
TIED, LOOSE = 0.97, 0.15  # correlations of two entries: in the task, in a dataset
LATEST, BETTER = 6, 0.05  # frames that an action may be late; by which a delay fits better
LED = 0.6  # correlation of an action with what it moves more than noise does
PLAIN = 0.4  # correlation with the next frames from which a delay is known
BEHIND = 3  # frames that a gripper follows after
GRIPS, FOLLOWS = 0.8, 0.5  # correlations of a gripper with its action: in the task, in a dataset
PLACED, CONTRARY = 0.9, 0.85  # correlations of a place with its action: in the task, in a dataset
SHOWN = 2  # of each kind, at most
SEVERAL = 4  # demonstrations
ROWS = 50  # strides from which something is known
MOVED = 1e-6  # standard deviation of what moves
WIDER = 1.4  # times as far as in the task, of a gripper that nothing is to have go farther
HARDLY = 0.05  # of a gripper's action: less says nothing


@dataclass(frozen=True, slots=True)
class Strides:
    """All strides of some episodes. pushes: sums of actions, (n, act). ways: (n, obs)."""

    pushes: FloatArray
    ways: FloatArray

    @classmethod
    def of(cls, pairs: Pairs) -> Strides:
        """Take the strides of episodes that are long enough; (actions, observations) each."""
        pushes, ways = [], []
        for actions, seen in pairs:
            if len(seen) <= STRIDE:
                continue
            sums = np.cumsum(np.concatenate([np.zeros((1, actions.shape[1])), actions]), axis=0)
            pushes.append(sums[STRIDE : len(seen)] - sums[: len(seen) - STRIDE])
            ways.append(seen[STRIDE:] - seen[:-STRIDE])
        if not ways:
            return cls(np.zeros((0, 0)), np.zeros((0, 0)))
        return cls(np.concatenate(pushes), np.concatenate(ways))

    def __len__(self) -> int:
        return len(self.ways)

    def slope(self, action: int, entry: int) -> float:
        """How far an entry goes for one unit of an action, were all of it by that action."""
        return float(self.ways[:, entry].std() / self.pushes[:, action].std())


def by_episodes(frames: Frames, pair: tuple[FloatArray, FloatArray]) -> Pairs:
    """Part actions (n, act) and observations (n, obs) of all frames by episodes."""
    actions, seen = pair
    rows = [slice(extent.first, extent.end) for extent in frames.extents]
    return [(actions[each], seen[each]) for each in rows]


def length(theirs: Pairs) -> int:
    """Return how many frames there are in all episodes."""
    return sum(len(seen) for _, seen in theirs)


def odd_strides(theirs: Pairs, wanted: TaskInterface) -> tuple[str, ...]:
    """Find what moves otherwise than in the task, a clause about each for a person.

    theirs: see `by_episodes`. wanted: the task that they are for, with episodes of random actions.
    """
    ours, here = Strides.of(wanted.random), Strides.of(theirs)
    if length(theirs) < FEWEST or len(here) < ROWS:
        return ()
    if not wanted.random and wanted.demonstrations is not None:
        return tuple(_contrary(wanted.demonstrations(), here, wanted))
    if len(ours) < ROWS:
        return ()
    leads = leading(ours)
    told = [
        *_stretched(ours, here, leads, wanted),
        *_untied(ours, here, wanted),
        _late(theirs, leads, wanted),
        *_grips(theirs, wanted),
        *_turned_round(theirs, wanted),
    ]
    return tuple(text for text in told if text)


def steady_entries(wanted: TaskInterface) -> tuple[int, ...]:
    """Find the entries that actions move steadily in a task, and those that move with them.

    A force, or a distance that saturates, is none of them: it may jump or stand.
    """
    ours = Strides.of(wanted.random)
    if len(ours) < ROWS:
        return ()
    led = {entry for _, entry in leading(ours, LED)}
    tied = np.abs(correlations(ours.ways, ours.ways)) >= TIED
    return tuple(i for i in range(len(tied)) if i in led or any(tied[i, j] for j in led))


def leading(ours: Strides, least: float = SURE) -> list[tuple[int, int]]:
    """Each action with the entry that it surely moves most."""
    found = np.abs(correlations(ours.pushes, ours.ways))
    best = found.argmax(axis=1)
    return [(i, int(best[i])) for i in range(len(best)) if found[i, best[i]] >= least]


def unremarkable(ours: Strides, here: Strides, action: int, entry: int) -> bool:
    """Whether strides have nothing against how an action moves an entry.

    So it is where it moves as far, and as surely, as in the task, or too little to tell. Then
    single frames that say otherwise say nothing: there is latency, and a hand that trembles.

    ours: of the task's random actions. here: of a dataset, or of one of its episodes.
    """
    if len(ours) < ROWS or len(here) < ROWS // 2:
        return False
    mine, found, times = _held_against(ours, here, action, entry)
    if _slight(ours, here, action, entry):
        return True
    return abs(mine) >= SEEN and found >= SEEN and 1 / STRETCHED < times < STRETCHED


def _held_against(
    ours: Strides, here: Strides, action: int, entry: int
) -> tuple[float, float, float]:
    """Return correlations in the task and here, this with the task's sign, and times as far."""
    mine, found = (
        _correlation(each.pushes[:, action], each.ways[:, entry]) for each in (ours, here)
    )
    scale = mine * ours.slope(action, entry)
    times = found * here.slope(action, entry) / scale if scale else 0.0
    return mine, found * float(np.sign(mine)), times


def _slight(ours: Strides, here: Strides, action: int, entry: int) -> bool:
    """Whether an action is used too little here to see what it does beside all else.

    That is what it would do in the task, beside what it leaves unexplained there; but not where an
    entry follows it surely here.
    """
    mine, found, _ = _held_against(ours, here, action, entry)
    moved = abs(mine) * ours.slope(action, entry) * float(here.pushes[:, action].std())
    else_moved = float(ours.ways[:, entry].std()) * float(np.sqrt(max(0.0, 1.0 - mine**2)))
    due = moved / float(np.hypot(moved, else_moved)) if moved else 0.0
    return due < SEEN and found < SURE


def _stretched(
    ours: Strides, here: Strides, leads: list[tuple[int, int]], wanted: TaskInterface
) -> list[str]:
    """Actions that move things much farther than in the task, or much less far."""
    told: list[str] = []
    for action, entry in leads:
        _, found, times = _held_against(ours, here, action, entry)
        if found < SEEN or _slight(ours, here, action, entry):
            continue
        if not 1 / STRETCHED < times < STRETCHED:
            told.append(
                f"over {STRIDE} frames {wanted.action[action]} moves {wanted.observation[entry]} "
                f"{times:.2g} times as far as in {wanted.task}: another scale, or another rate?"
            )
    return told[:SHOWN]


def _untied(ours: Strides, here: Strides, wanted: TaskInterface) -> list[str]:
    """Two entries that move together in the task, and here do not, or the other way."""
    mine = correlations(ours.ways, ours.ways)
    theirs = correlations(here.ways, here.ways)
    told: list[str] = []
    for one, other in np.argwhere(np.triu(np.abs(mine) >= TIED, 1)).tolist():
        along = float(np.sign(mine[one, other]) * theirs[one, other])
        if along < LOOSE:
            told.append(
                f"{wanted.observation[one]} and {wanted.observation[other]} do not move together "
                f"as in {wanted.task} (correlation {theirs[one, other]:.2f}, there "
                f"{mine[one, other]:.2f}): another sign or order, or a tracker that stood still?"
            )
    return told[:SHOWN]


def _contrary(shown: Pairs, here: Strides, wanted: TaskInterface) -> list[str]:
    """Two entries that move together in each demonstration of the task, and here contrarily.

    shown: demonstrations of the task's own, for one whose random actions say little.
    """
    ways = [each.ways for each in (Strides.of([pair]) for pair in shown) if len(each)]
    if len(ways) < SEVERAL:
        return []
    mine = np.array([correlations(each, each) for each in ways])
    together = (np.abs(mine).min(axis=0) >= SEEN) & (np.ptp(np.sign(mine), axis=0) == 0)
    theirs = correlations(here.ways, here.ways)
    usual = np.median(mine, axis=0)
    odd = np.triu(together & (theirs * np.sign(usual) <= -SEEN), 1)
    return [
        f"{wanted.observation[one]} and {wanted.observation[other]} move against each other "
        f"otherwise than in {wanted.task} (correlation {theirs[one, other]:.2f}, there "
        f"{usual[one, other]:.2f}): another sign of one of them?"
        for one, other in np.argwhere(odd).tolist()
    ][:SHOWN]


def _late(theirs: Pairs, leads: list[tuple[int, int]], wanted: TaskInterface) -> str:
    """Whether all that actions surely move follows sooner, or later, than in the task."""
    shifts = []
    for action, entry in leads:
        mine, found = (
            by_delays([(done[:, action], np.diff(seen[:, entry])) for done, seen in pairs])
            for pairs in (wanted.random, theirs)
        )
        due, best = int(mine.argmax()), int(found.argmax())
        if min(mine[due], found[best]) >= PLAIN:
            shifts.append(best - due if found[best] > found[due] + BETTER else 0)
    if len(shifts) < 2 or not (min(shifts) > 0 or max(shifts) < 0):
        return ""
    sooner = max(shifts) < 0
    return (
        f"what actions move follows them {'sooner' if sooner else 'later'} than in {wanted.task}: "
        f"are actions written {'late' if sooner else 'early'}, or what is seen "
        f"{'early' if sooner else 'late'}?"
    )


def by_delays(columns: Sequence[tuple[FloatArray, FloatArray]]) -> FloatArray:
    """Return how well a column follows another one, for delays of `-LATEST` to `LATEST` frames.

    Args:
        columns: The other one and the one that follows it, (t,) each, in each episode.

    Returns:
        Sizes of correlations, (2 LATEST + 1,).
    """
    found = []
    for delay in range(-LATEST, LATEST + 1):
        ones, others = [], []
        for one, other in columns:
            first = max(0, -delay)
            last = max(first, len(other) - max(0, delay))
            ones.append(one[first:last])
            others.append(other[first + delay : last + delay])
        found.append(abs(_correlation(np.concatenate(ones), np.concatenate(others))))
    return np.array(found)


def _grips(theirs: Pairs, wanted: TaskInterface) -> list[str]:
    """Grippers that do not go where their action says."""
    told: list[str] = []
    for action in wanted.grippers:
        mine = _levels(wanted.held, action)
        if mine is None:
            continue
        along = np.array([_correlation(mine[0], column) for column in mine[1].T])
        entry = int(np.abs(along).argmax())
        if abs(along[entry]) < GRIPS:
            continue
        found = _levels(theirs, action)
        if found is None:
            continue
        seen = found[1][:, entry]
        here = _correlation(found[0], seen)
        names = f"{wanted.action[action]}, a gripper, and {wanted.observation[entry]}"
        if found[0].std() < HARDLY:
            continue
        farther = float(seen.std() / found[0].std()) / float(
            mine[1][:, entry].std() / mine[0].std()
        )
        if here * np.sign(along[entry]) >= FOLLOWS and farther > WIDER:
            told.append(
                f"{names} goes {farther:.2g} times as far for its action as in {wanted.task}: "
                "an action from 0 to 1, or another scale?"
            )
        if here * np.sign(along[entry]) < FOLLOWS:
            told.append(
                f"{names} do not go together as in {wanted.task} (correlation {here:.2f}, there "
                f"{along[entry]:.2f}): closed for open, or not recorded?"
            )
    return told


def _turned_round(theirs: Pairs, wanted: TaskInterface) -> list[str]:
    """Places that an action asks for, and that are gone to at the other end; grippers apart."""
    told: list[str] = []
    for action in range(len(wanted.action)):
        mine, found = (_levels(pairs, action) for pairs in (wanted.held, theirs))
        if action in wanted.grippers or mine is None or found is None:
            continue
        along = correlations(mine[0][:, None], mine[1])[0]
        entry = int(np.abs(along).argmax())
        here = _correlation(found[0], found[1][:, entry])
        if abs(along[entry]) >= PLACED and here * np.sign(along[entry]) <= -CONTRARY:
            told.append(
                f"{wanted.observation[entry]} does not go where {wanted.action[action]} says, but "
                f"to the other end (correlation {here:.2f}, in {wanted.task} {along[entry]:.2f}): "
                "closed for open, or another sign?"
            )
    return told[:SHOWN]


def _levels(pairs: Pairs, action: int) -> tuple[FloatArray, FloatArray] | None:
    """An action, (n,), and what is seen some frames later, (n, obs); None of too few."""
    long = [(done, seen) for done, seen in pairs if len(seen) > BEHIND]
    if sum(len(seen) - BEHIND for _, seen in long) < ROWS:
        return None
    done = np.concatenate([done[:-BEHIND, action] for done, _ in long])
    return done, np.concatenate([seen[BEHIND:] for _, seen in long])


def _correlation(one: FloatArray, other: FloatArray) -> float:
    return float(correlations(one[:, None], other[:, None])[0, 0])


def correlations(ones: FloatArray, others: FloatArray) -> FloatArray:
    """Correlations (a, b) of columns (n, a) with columns (n, b); 0 of what does not move."""
    if not len(ones):
        return np.zeros((ones.shape[1], others.shape[1]))
    centred = [each - each.mean(axis=0) for each in (ones, others)]
    sizes = [np.linalg.norm(each, axis=0) for each in centred]
    found = np.zeros((ones.shape[1], others.shape[1]))
    moves = np.outer(*(size > MOVED * np.sqrt(len(ones)) for size in sizes))
    np.divide(centred[0].T @ centred[1], np.outer(*sizes), out=found, where=moves)
    return found
