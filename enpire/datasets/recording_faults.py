"""Signs in a dataset's values that its recording went wrong: each is told, and no value changes.

A sensor that hangs, rows that pad an episode, an encoder that jumps, one episode of another arm,
actions in another scale: every number is finite and within its range, and says something else.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from enpire.datasets import episodes_against_task, outlying_episodes
from enpire.datasets.compatibility import (
    AGAINST,
    FEWEST,
    STILL,
    TaskInterface,
    gains_of,
    going_with,
    leading_entries,
)
from enpire.datasets.folder import Frames
from enpire.datasets.other_episodes import clause, out_of_step, run_backwards, stands_still
from enpire.datasets.strides import Pairs, Strides, by_episodes, steady_entries, unremarkable
from enpire.types import Flags, FloatArray

OTHERS = 4  # episodes from which one with exchanged columns is told
ROOM, HALF = 0.1, 0.5  # around what an entry goes through; share of frames that it is there
HANGS = 5  # frames in which nothing that is seen changes, at least
ACTED = 0.1  # by which an action changes meanwhile: more than a hand's trembling
TREMBLING, HELD = 1e-3, 0.3  # of an action's change, and the share of frames that show no other
PADDING, FILLED = 2, 5  # frames of zeros at an end, at least; and of any numbers, over and over
ROUNDING = 1e-3  # of an entry: less is what is left of single precision in degrees
JUMP, USUAL = 20.0, 0.99  # times the change that this share of frames stays below
ALONE = 10.0  # the same of one frame that lies off the way between its neighbours
LEAP, FEW, MOSTLY = 2.0, 5, 0.95  # times as far in one frame as this share goes in so many
LIVELY, LOST = 0.97, 3  # share of frames in which an entry changes, and frames in which it does not
STUTTER = 0.2  # share of frames in which an entry alone does not change
MOVED = 0.02  # standard deviation of an action that moves something
ALIKE = 0.8  # correlation over all episodes, from which one episode without it is odd
EXACT = 0.95  # correlation from which what an action moves is known well
SHOWN = 2  # of what actions move, at most
STRETCHED, OFF = 1.5, 5.0  # times as far as in the task: if that is known well, and else


def signs(
    frames: Frames, pair: tuple[FloatArray, FloatArray], wanted: TaskInterface
) -> tuple[str, ...]:
    """Find what looks like a fault of the recording.

    Args:
        frames: All frames, by episodes.
        pair: Their actions (n, act) and observations (n, obs).
        wanted: The task that they are for.

    Returns:
        A clause about each fault, for a person.
    """
    pairs = by_episodes(frames, pair)
    steady, back = steady_entries(wanted), run_backwards(pairs)
    against, known = episodes_against_task.against_task(frames, pairs, wanted, back)
    return tuple(
        text
        for text in (
            _padded(frames, pairs),
            _last_actions(frames, pairs),
            _exchanged(frames, pairs, wanted),
            _backwards(frames, back),
            _out_of_step(frames, pairs, back),
            _stale(frames, pairs, wanted),
            _hangs(frames, pairs),
            _held(frames, pairs),
            _jumps(frames, pairs, wanted, steady),
            _alone(frames, pairs, wanted, steady),
            _lost(frames, pairs, wanted, steady),
            *against,
            *outlying_episodes.outlying(frames, pairs, wanted, [*back, *known]),
            *_moved_otherwise(frames, pairs, wanted),
        )
        if text
    )


def _padded(frames: Frames, pairs: Pairs) -> str:
    """Whether episodes end in rows of zeros, which a writer filled up."""
    found = [
        i
        for i, (_, seen) in enumerate(pairs)
        if len(seen) > PADDING and seen.any() and not seen[-PADDING:].any()
    ]
    if found:
        return clause(frames, found, "with nothing but 0 at the end of what is seen: filled up?")
    for where, step in (("last", -1), ("first", 1)):
        found = [i for i, pair in enumerate(pairs) if _alike_at_end(*pair, step)]
        if found:
            return clause(
                frames,
                found,
                f"whose {where} {FILLED} rows or more are one row over and over, and its action is "
                "not 0: filled up?",
            )
    return ""


def _alike_at_end(actions: FloatArray, seen: FloatArray, step: int) -> bool:
    """Tell whether rows from one end on are alike; step: 1 from the first on, -1 from the last."""
    rows = np.hstack([actions, seen])[::step]
    end = rows[:FILLED]
    return bool(
        len(rows) > 2 * FILLED
        and (end == end[0]).all()
        and rows[0, : actions.shape[1]].any()
        and (rows != rows[0]).any()
    )


def _last_actions(frames: Frames, pairs: Pairs) -> str:
    """Whether episodes end with an action of zeros, where no other is: there was none to write."""
    found = [
        i
        for i, (done, _) in enumerate(pairs)
        if len(done) > PADDING and not done[-1].any() and done[:-1].any(axis=1).all()
    ]
    if len(found) <= len(pairs) // 2:
        return ""
    return clause(frames, found, "whose last action alone is nothing but 0: filled up?")


def _exchanged(frames: Frames, pairs: Pairs, wanted: TaskInterface) -> str:
    """Whether in an episode entries stand in each other's columns, by where they are else.

    Surely so where each of them leaves what it goes through in all other episodes, and stays within
    what another of them does.
    """
    if len(pairs) < OTHERS:
        return ""
    lows, highs = (np.array([end(seen, axis=0) for _, seen in pairs]) for end in (np.min, np.max))
    least, most = np.partition(lows, 1, axis=0)[:2], -np.partition(-highs, 1, axis=0)[:2]
    for i, (_, seen) in enumerate(pairs):
        low = np.where(lows[i] == least[0], least[1], least[0])  # of the others
        high = np.where(highs[i] == most[0], most[1], most[0])
        room = ROOM * (high - low)
        within = (seen[:, :, None] >= low - room) & (seen[:, :, None] <= high + room)
        share = within.mean(axis=0)  # (entry, whose range)
        left = np.flatnonzero(share.diagonal() < HALF)
        fits = share[np.ix_(left, left)] == 1.0
        if len(left) > 1 and fits.any(axis=0).all() and fits.any(axis=1).all():
            names = " and ".join(wanted.observation[entry] for entry in left)
            return clause(
                frames, [i], f"in which {names} are as each other else: columns exchanged?"
            )
    return ""


def _backwards(frames: Frames, back: list[int]) -> str:
    """Whether actions follow what they lead in the other episodes, or go against it."""
    return clause(
        frames,
        back,
        "in which what actions move goes before or against them, and after and along them in the "
        "others: backwards in time, or with other signs?",
    )


def _out_of_step(frames: Frames, pairs: Pairs, back: list[int]) -> str:
    """Whether an episode's actions were written sooner or later than those of the others.

    back: episodes of which that is no news, for they run backwards.
    """
    found = [(row, later) for row, later in out_of_step(pairs) if row not in back]
    if not found:
        return ""
    later = found[0][1]
    return clause(
        frames,
        [row for row, _ in found],
        f"in which all follows its actions {abs(later)} frames {'later' if later > 0 else 'sooner'}"
        f" than in the others: were they written {'early' if later > 0 else 'late'}?",
    )


def _stale(frames: Frames, pairs: Pairs, wanted: TaskInterface) -> str:
    """Whether an entry stands still in an episode, though what moves it elsewhere changes there."""
    found = stands_still(pairs)
    if not found:
        return ""
    _, action, entry = found[0]
    rows = [row for row, _, other in found if other == entry]
    return clause(
        frames,
        rows,
        f"in which {wanted.observation[entry]} stands still, though {wanted.action[action]} moves "
        "it in the others and changes here, too: a sensor that told its first value?",
    )


def _hangs(frames: Frames, pairs: Pairs) -> str:
    """Whether what is seen stands still in episodes while actions change."""
    found = [i for i, (actions, seen) in enumerate(pairs) if _hanging(actions, seen)]
    return clause(
        frames,
        found,
        f"in which nothing that is seen changes for {HANGS} frames or more while actions do: "
        "a sensor that hung?",
    )


def _held(frames: Frames, pairs: Pairs) -> str:
    """Whether every few frames show what the one before did: a slower recording, filled up."""
    found = []
    for i, (actions, seen) in enumerate(pairs):
        same = (np.diff(seen, axis=0) == 0).all(axis=1)
        acts = np.abs(np.diff(actions, axis=0)).max(axis=1, initial=0.0) > TREMBLING
        if acts.sum() >= HANGS and (same & acts).sum() >= HELD * acts.sum():
            found.append(i)
    return clause(
        frames,
        found,
        "in which many frames show what the one before did while actions change: recorded more "
        "slowly, and filled up?",
    )


def _hanging(actions: FloatArray, seen: FloatArray) -> bool:
    same = np.r_[False, (np.diff(seen, axis=0) == 0).all(axis=1), False]
    edges = np.flatnonzero(np.diff(same.astype(np.int8)))
    spans = zip(edges[::2], edges[1::2] + 1, strict=True)  # frames of one value
    return any(
        end - first >= HANGS and np.ptp(actions[first : end - 1], axis=0).max() > ACTED
        for first, end in spans
    )


def _jumps(frames: Frames, pairs: Pairs, wanted: TaskInterface, steady: Sequence[int]) -> str:
    """The entry that once changes by far more than it else does, if it is one that moves on."""
    if len(frames) < FEWEST:
        return ""
    changes = [np.abs(np.diff(seen, axis=0)) for _, seen in pairs]
    every = np.concatenate(changes)
    usual = np.quantile(every, USUAL, axis=0)
    slow = [np.abs(seen[FEW:] - seen[:-FEW]) for _, seen in pairs if len(seen) > FEW]
    leap = LEAP * np.quantile(np.concatenate(slow), MOSTLY, axis=0) if slow else np.inf
    leaps = (every > np.maximum(leap, 2 * usual)) & np.isin(np.arange(len(usual)), steady)
    far = ((every > JUMP * usual) | leaps) & (np.median(every, axis=0) > 0) & (every > ROUNDING)
    far &= every > _quickest(wanted)
    if not far.any():
        return ""
    row, entry = (int(i[0]) for i in np.nonzero(far))
    episode = int(np.searchsorted(np.cumsum([len(each) for each in changes]), row, side="right"))
    frame = row - sum(len(each) for each in changes[:episode]) + 1
    return (
        f"{wanted.observation[entry]} jumps by {every[row, entry]:g} in episode "
        f"{frames.extents[episode].index}, frame {frame}, and else hardly by {usual[entry]:g}"
    )


def _quickest(wanted: TaskInterface) -> FloatArray:
    """How far each entry goes in a frame at most while actions are random, (obs,), or 0."""
    changes = [np.abs(np.diff(seen, axis=0)) for _, seen in wanted.random if len(seen) > 1]
    return np.concatenate(changes).max(axis=0) if changes else np.zeros(len(wanted.observation))


def _alone(frames: Frames, pairs: Pairs, wanted: TaskInterface, steady: Sequence[int]) -> str:
    """The entry that in one frame is far off the way between the frames beside it.

    A lost object is told as 0, -1 or -999, and a byte of a bus as another one.
    """
    if len(frames) < FEWEST:
        return ""
    off = [np.abs(seen[1:-1] - (seen[:-2] + seen[2:]) / 2) for _, seen in pairs]
    every = np.concatenate(off)
    usual = np.quantile(every, USUAL, axis=0)
    back = np.concatenate([np.abs(seen[2:] - seen[:-2]) for _, seen in pairs])
    far = (every > np.maximum(ALONE * usual, back)) & np.isin(np.arange(len(usual)), steady)
    if not far.any():
        return ""
    row, entry = (int(i[0]) for i in np.nonzero(far))
    episode = int(np.searchsorted(np.cumsum([len(each) for each in off]), row, side="right"))
    frame = row - sum(len(each) for each in off[:episode]) + 1
    value = pairs[episode][1][frame, entry]
    return (
        f"{wanted.observation[entry]} is {value:g} in episode {frames.extents[episode].index}, "
        f"frame {frame}, alone between others: lost by its sensor there?"
    )


def _lost(frames: Frames, pairs: Pairs, wanted: TaskInterface, steady: Sequence[int]) -> str:
    """An entry that stays the same while others change, and else changes in each frame.

    Or that is exactly 0, as it never is in the task: so trackers tell what they do not see.
    """
    if len(frames) < FEWEST:
        return ""
    same = [np.diff(seen, axis=0) == 0 for _, seen in pairs]
    for entry in steady:
        if not (_lively(pairs, entry) or _lively(wanted.random, entry)):
            continue
        alone = [each[:, entry] & ~each.all(axis=1) for each in same]
        found = [i for i, each in enumerate(alone) if _longest(each) >= LOST - 1]
        if found:
            name = wanted.observation[entry]
            return clause(
                frames,
                found,
                f"in which {name}, which else changes in each frame, stays the same for {LOST} or "
                "more: lost by its sensor, or filled up?",
            )
        stutters = _lively(wanted.random, entry)
        found = [i for i, each in enumerate(alone) if stutters and each.mean() >= STUTTER]
        if found:
            return clause(
                frames,
                found,
                f"in which {wanted.observation[entry]} is in many frames what it was in the one "
                f"before, and in {wanted.task} changes in each: a sensor that is slower?",
            )
        found = [i for i, (_, seen) in enumerate(pairs) if (seen[:, entry] == 0).any()]
        if (
            found
            and wanted.random
            and all((seen[:, entry] != 0).all() for _, seen in wanted.random)
        ):
            name = wanted.observation[entry]
            return clause(
                frames, found, f"in which {name} is exactly 0 somewhere: lost by its sensor?"
            )
    return ""


def _lively(pairs: Pairs, entry: int) -> bool:
    """Tell whether an entry changes in nearly each frame, but for the value that it has most."""
    if not pairs:
        return False
    values, counts = np.unique(
        np.concatenate([seen[:, entry] for _, seen in pairs]), return_counts=True
    )
    usual = values[counts.argmax()]
    changed: list[Flags] = []
    for _, seen in pairs:
        column = seen[:, entry]
        own = (column[1:] != usual) & (column[:-1] != usual)
        changed.append((np.diff(column) != 0)[own])
    every = np.concatenate(changed)
    return len(every) >= FEWEST // 2 and bool(every.mean() >= LIVELY)


def _longest(flags: Flags) -> int:
    """Return the length of the longest run of true ones."""
    edges = np.flatnonzero(np.diff(np.r_[False, flags, False].astype(np.int8)))
    return int((edges[1::2] - edges[::2]).max(initial=0))


def _moved_otherwise(frames: Frames, pairs: Pairs, wanted: TaskInterface) -> list[str]:
    """Whether actions move more or less than in the task, or in one episode what they else do."""
    if not wanted.moves.size or len(frames) < FEWEST:
        return []
    moves, gains = going_with(pairs), gains_of(pairs)
    ours, here = Strides.of(wanted.random), Strides.of(pairs)
    told: list[str] = []
    for action, entry in np.argwhere(leading_entries(wanted.moves)).tolist():
        sign = np.sign(wanted.moves[action, entry])
        along = float(sign * moves[action, entry])
        names = f"{wanted.action[action]} moves {wanted.observation[entry]}"
        gain = float(gains[action, entry])
        if along >= ALIKE:
            found = [
                i
                for i, each in enumerate(pairs)
                if len(each[0]) >= STILL
                and each[0][:, action].std() > MOVED
                and _differs(each, action, entry, gain if along >= EXACT else 0.0, sign)
                and not unremarkable(ours, Strides.of([each]), action, entry)
            ]
            told.append(clause(frames, found, f"in which not, as in the others, {names}"))
        if along < -AGAINST or unremarkable(ours, here, action, entry):
            continue
        due = abs(float(wanted.moves[action, entry]))
        if along < AGAINST:
            if action not in wanted.grippers:  # `_grips` is of these
                told.append(
                    f"{wanted.action[action]} hardly moves {wanted.observation[entry]} "
                    f"(correlation {along:.2f}, in {wanted.task} {due:.2f}): late, or another axis?"
                )
        elif due >= EXACT > along:
            told.append(
                f"{names} less surely than in {wanted.task} (correlation {along:.2f}, there "
                f"{due:.2f}): another rate, or steps for places?"
            )
        elif wanted.gains.size:
            exact = min(along, due) >= EXACT
            times = gain / float(wanted.gains[action, entry])
            if max(times, 1 / times) > (STRETCHED if exact else OFF):
                told.append(
                    f"{names} {times:.2g} times as far as in {wanted.task}: another scale, or "
                    "another rate?"
                )
    return [text for text in told if text][:SHOWN]


def _differs(
    pair: tuple[FloatArray, FloatArray], action: int, entry: int, gain: float, sign: float
) -> bool:
    """Whether an episode's action does not move that entry, or not by this gain if it is known."""
    if sign * going_with([pair])[action, entry] < AGAINST:
        return True
    times = float(gains_of([pair])[action, entry]) / gain if gain else 1.0
    return not 1 / OFF < times < OFF
