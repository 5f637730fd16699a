"""What a dataset shows that need not be wrong: it is told, and no value changes.

A person who reads that half of the episodes are of another task knows what to do.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from enpire.datasets import angles, delays, recording_faults, replays, strides
from enpire.datasets.columns import DONE, OBSERVED, PICTURES, PURPOSE, REWARD, SEED
from enpire.datasets.compatibility import LEAST, STILL, TaskInterface
from enpire.datasets.folder import Description, Frames, files_left_out
from enpire.datasets.tables import TASK, episode_texts, task_texts
from enpire.errors import StoreError
from enpire.types import FloatArray, Purpose

MOST, ALIKE = 0.5, 4  # share of episodes that begin elsewhere; episodes that do not by accident
ELSEWHERE = 0.05  # from a task's own starts, of an entry's size and at least of 1 (m, rad)
CLOSE = 0.5  # of two rates that differ by rounding alone [Hz]
OTHERWISE = 0.1  # of what starts differ by, from which on two of one seed are not the same
SHORT, BRIEF = 3, 0.1  # frames a success has at least; the share of what successes have
FAR_BELOW = 0.15  # of what the largest action of an episode usually is
TINY = 0.05  # of a full action: nobody demonstrates with less alone
FULL = 0.9  # share of what actions say that is a full one: nobody demonstrates so
SEVERAL = 2  # entries of an action do not all go one way by accident
ENDS, SURELY = 0.3, 0.9  # of a gripper where episodes end; share of episodes that end otherwise
NORMED = 1e-3  # by which a normaliser's output may be off, that of single precision too
FEW, SURE = 10, 7.0  # episodes that show an order; how many deviations that is from none
HARDLY, LITTLE = 0.2, 0.1  # a gripper moves, at least; and the share of how far it else does


def more_columns(features: Mapping[str, Any]) -> list[str]:
    """The columns that are looked at here, of the ones that there are."""
    return [name for name in (DONE, TASK, PURPOSE) if name in features]


def require_ends(frames: Frames, features: Mapping[str, Any]) -> None:
    """See whether a dataset's own marks of an episode's end agree with its episodes.

    Raises:
        StoreError: an episode is done, and then it is not: it is two of them.
    """
    if DONE not in features:
        return
    done = frames.flags(DONE)
    for extent in frames.extents:
        mine = done[extent.first : extent.end]
        resumed = np.flatnonzero(mine[:-1] & ~mine[1:])
        if len(resumed):
            raise StoreError(
                f"{frames.folder}: episode {extent.index}, frame {resumed[0]}: {DONE} is true, and "
                "the episode goes on: it is two episodes, or that column is wrong"
            )


def cut_off(frames: Frames, good: Sequence[bool]) -> str:
    """Tell of successes that are far too short for one; good: of each episode, whether it is."""
    mine = [extent for extent, success in zip(frames.extents, good, strict=True) if success]
    usual = float(np.median([extent.length for extent in mine])) if mine else 0.0
    found = [extent for extent in mine if extent.length < max(SHORT, BRIEF * usual)]
    if not found:
        return ""
    return (
        f"{len(found)} of {len(mine)} successes (the first: episode {found[0].index}) with at most "
        f"{max(extent.length for extent in found)} frames, where {usual:g} are usual: cut off?"
    )


def rewarded(frames: Frames, good: Sequence[bool]) -> str:
    """Tell of rewards of 0 and 1 that mark other episodes than the successes (good) are."""
    if REWARD not in frames.table.column_names:
        return ""
    try:
        rewards = frames.single(REWARD)
    except StoreError:  # nothing learns from it
        return ""
    if set(np.unique(rewards).tolist()) != {0.0, 1.0}:
        return ""
    paid = [bool(rewards[extent.first : extent.end].any()) for extent in frames.extents]
    found = [i for i, each in enumerate(paid) if each != good[i]]
    if not found:
        return ""
    what = "a success without a reward" if good[found[0]] else "a failure with a reward of 1"
    return (
        f"{REWARD} against the success of {len(found)} of {len(good)} episodes (the first: "
        f"{frames.extents[found[0]].index}, {what}), and is not used"
    )


def noticed(
    frames: Frames,
    description: Description,
    pair: tuple[FloatArray, FloatArray],
    wanted: TaskInterface,
) -> tuple[str, ...]:
    """What is told of a dataset; pair: actions (n, act) and observations (n, obs) of all frames."""
    actions, observations = pair
    theirs = strides.by_episodes(frames, pair)
    told = [
        _robot(description, wanted),
        _rates(description),
        _splits(frames, description),
        _tasks(frames, description.features),
        _instruction(frames, wanted),
        _sealed(frames),
        _idle(frames, actions),
        _one_sided(actions),
        _full(actions, wanted),
        _normalised(observations),
        _tiny(actions),
        _smaller(frames, actions),
        _gripper(actions, wanted),
        _closed_for_open(frames, actions, wanted),
        _seeds(frames, observations, wanted),
        _begins(frames, observations, wanted),
        _drifts(frames, observations, wanted),
        _left_out(frames),
        _unread(frames, description, wanted),
        *recording_faults.signs(frames, pair, wanted),
        *strides.odd_strides(theirs, wanted),
        *delays.odd_delays(theirs, wanted),
        *angles.odd_angles(theirs, wanted),
        *replays.odd_replays(frames, pair, wanted),
    ]
    return tuple(text for text in told if text)


def _robot(description: Description, wanted: TaskInterface) -> str:
    """A name within the other is of the same arm: `so101` and `so101_follower`."""
    if (
        not (description.robot and wanted.robot)
        or wanted.robot in description.robot
        or description.robot in wanted.robot
    ):
        return ""
    return f"recorded with {description.robot:.40}, and {wanted.task} is for {wanted.robot}"


def _rates(description: Description) -> str:
    """A column or a video of which the description says another rate than of the dataset."""
    for name, feature in description.features.items():
        about = feature.get("info") or feature.get("video_info")
        video = about.get("video.fps") if isinstance(about, dict) else None
        for said in (feature.get("fps"), video):
            if isinstance(said, int | float) and abs(said - description.fps) > CLOSE:
                return (
                    f"meta/info.json says fps {said:g} of {name:.80}, and {description.fps:g} of "
                    "the dataset: was it recorded at another rate?"
                )
    return ""


def _tiny(actions: FloatArray) -> str:
    """Shares of a full action are all far below it where they were written in m and rad."""
    largest = float(np.abs(actions).max(initial=0.0))
    if not LEAST < largest < TINY:
        return ""
    return f"with no action beyond {largest:.2g}, where a full one is 1: in m, or in rad?"


def _smaller(frames: Frames, actions: FloatArray) -> str:
    """Some episodes whose actions are all far below the others': written in another unit."""
    largest = np.array(
        [np.abs(actions[extent.first : extent.end]).max(initial=0.0) for extent in frames.extents]
    )
    usual = float(np.median(largest))
    found = np.flatnonzero((largest > LEAST) & (largest < FAR_BELOW * usual))
    if not len(found):
        return ""
    return (
        f"{len(found)} of {len(largest)} episodes (the first: {frames.extents[found[0]].index}) "
        f"with no action beyond {largest[found].max():.2g}, where {usual:.2g} is usual: in another "
        "unit?"
    )


def _splits(frames: Frames, description: Description) -> str:
    """Episodes that were set apart, for a test, are learned from as all others are."""
    count = len(frames.extents)
    if not description.splits or description.splits == {"train": f"0:{count}"}:
        return ""
    told = ", ".join(f"{name} {range_}" for name, range_ in description.splits.items())
    return f"all {count} of its episodes, whatever its splits say ({told:.80})"


def _one_sided(actions: FloatArray) -> str:
    """Actions that go one way only were scaled to between 0 and 1."""
    still = np.ptp(actions, axis=0) <= LEAST
    if len(actions) < STILL or (~still).sum() < SEVERAL or (actions < 0.0).any():
        return ""
    return "with no action below 0, where actions go from -1 to 1: scaled to between 0 and 1?"


def _full(actions: FloatArray, wanted: TaskInterface) -> str:
    """Actions that are all full ones: signs of them, or amplified until they were cut off."""
    moving = np.delete(actions, wanted.grippers, axis=1) if wanted.grippers else actions
    share = float((np.abs(moving) >= 1.0 - LEAST).mean()) if moving.size else 0.0
    if share < FULL:
        return ""
    return f"{share:.0%} of what actions say is 1 or -1: the signs of actions, or cut off there?"


def _normalised(observations: FloatArray) -> str:
    """Tell where each entry that changes has mean 0 and spread 1, or goes from -1 to 1 or 0 to 1.

    No sensors are so all together: a normaliser's output was recorded.
    """
    changes = observations[:, np.ptp(observations, axis=0) > LEAST]
    if len(changes) < STILL or changes.shape[1] < SEVERAL:
        return ""
    low, high, spread = changes.min(axis=0), changes.max(axis=0), changes.std(axis=0)
    for what, exact in (
        ("a mean of 0 and a spread of 1", (changes.mean(axis=0), spread - 1.0)),
        ("a range from -1 to 1", (low + 1.0, high - 1.0)),
        ("a range from 0 to 1", (low, high - 1.0)),
    ):
        if np.abs(exact).max() < NORMED:
            return f"each entry that is seen has {what}: written after it was normalised?"
    return ""


def _tasks(frames: Frames, features: Mapping[str, Any]) -> str:
    if TASK not in features:
        return ""
    count = len(np.unique(frames.single(TASK)))
    return f"of {count} tasks by {TASK}, taken as one" if count > 1 else ""


def _instruction(frames: Frames, wanted: TaskInterface) -> str:
    """The words of another task: by them alone a policy of language and sight knows what to do."""
    if not wanted.instruction:
        return ""
    used = episode_texts(frames.folder)
    if TASK in frames.table.column_names:
        texts = task_texts(frames.folder)
        used |= {texts.get(int(index), "") for index in np.unique(frames.single(TASK))}
    other = [
        text for text in sorted(used) if text and _letters(text) != _letters(wanted.instruction)
    ]
    if not other:
        return ""
    more = f" and {len(other) - 1} more" if len(other) > 1 else ""
    return (
        f"its instruction is {other[0]!r:.80}{more}, and {wanted.task}'s is "
        f"{wanted.instruction!r:.80}: the same task?"
    )


def _letters(text: str) -> str:
    return "".join(letter for letter in text.casefold() if letter.isalnum())


def _gripper(actions: FloatArray, wanted: TaskInterface) -> str:
    """A gripper that is left alone where the task's own demonstrations move it."""
    size = np.ptp(actions, axis=0)
    still = [entry for entry in wanted.grippers if size[entry] < HARDLY]
    if not still or wanted.demonstrated is None:
        return ""
    theirs = wanted.demonstrated()
    for entry in still if len(theirs) else ():
        low, high = theirs[:, entry].min(), theirs[:, entry].max()
        if high - low > HARDLY and size[entry] < LITTLE * (high - low):
            return (
                f"{wanted.action[entry]}, a gripper, hardly moves ({actions[:, entry].min():.2g} "
                f"to {actions[:, entry].max():.2g}), and a demonstration of {wanted.task} moves it "
                f"from {low:.2g} to {high:.2g}: not recorded?"
            )
    return ""


def _closed_for_open(frames: Frames, actions: FloatArray, wanted: TaskInterface) -> str:
    """A gripper that ends open where a demonstration ends closed, or closed where it ends open.

    What is seen of it may be exchanged as well, and then goes with its actions.
    """
    if not wanted.grippers or wanted.demonstrated is None:
        return ""
    theirs = wanted.demonstrated()
    ends = [_end(actions[extent.first : extent.end]) for extent in frames.extents]
    for entry in wanted.grippers if len(theirs) else ():
        here = _end(theirs)[entry]
        mine = np.array([end[entry] for end in ends])
        contrary = (np.sign(mine) == -np.sign(here)) & (np.abs(mine) > ENDS)
        if abs(here) > ENDS and contrary.mean() > SURELY:
            return (
                f"{wanted.action[entry]}, a gripper, is at {np.median(mine):.2g} where episodes "
                f"end, and in a demonstration of {wanted.task} at {here:.2g}: closed for open?"
            )
    return ""


def _end(actions: FloatArray) -> FloatArray:
    """The middle of what the last quarter of an episode does, (act,)."""
    middle: FloatArray = np.median(actions[-max(1, len(actions) // 4) :], axis=0)
    return middle


def _unread(frames: Frames, description: Description, wanted: TaskInterface) -> str:
    """What was observed beside what the task shows, pictures apart."""
    features = description.features
    read = [features[name] for name in frames.table.column_names if name in features]
    extra = [
        name
        for name, feature in features.items()
        if name.startswith(OBSERVED)
        and not name.startswith(PICTURES)
        and name not in frames.table.column_names
        and (feature.get("shape"), feature.get("names"))
        not in [(each.get("shape"), each.get("names")) for each in read]
    ]
    if not extra:
        return ""
    return f"without {', '.join(extra)!s:.200}, which {wanted.task} does not show"


def _seeds(frames: Frames, seen: FloatArray, wanted: TaskInterface) -> str:
    """Two episodes of one seed that begin otherwise: their seeds are not those of their starts."""
    if SEED not in frames.table.column_names:
        return ""
    first = seen[[extent.first for extent in frames.extents]]
    size = np.ptp(first, axis=0)
    if len(wanted.starts):
        size = np.maximum(size, np.ptp(wanted.starts, axis=0))
    known: dict[Any, int] = {}
    found: list[tuple[int, int, int]] = []
    for i, extent in enumerate(frames.extents):
        other = known.setdefault(frames.plain(SEED, extent.first), i)
        far = np.abs(first[i] - first[other]) > np.maximum(OTHERWISE * size, LEAST)
        if far.any():
            found.append((other, i, int(np.argmax(far))))
    if not found:
        return ""
    one, two, at = found[0]
    seed = frames.plain(SEED, frames.extents[one].first)
    return (
        f"{len(found)} of {len(first)} episodes begin otherwise than one of the same {SEED} "
        f"(episodes {frames.extents[one].index} and {frames.extents[two].index} of {seed}: "
        f"{wanted.observation[at]} {first[one, at]:g} and {first[two, at]:g}): not the seeds of "
        "their starts?"
    )


def _left_out(frames: Frames) -> str:
    files = files_left_out(frames)
    if not files:
        return ""
    more = f" and {len(files) - 1} more" if len(files) > 1 else ""
    return f"without {files[0].relative_to(frames.folder)}{more}, which no episode is in"


def _sealed(frames: Frames) -> str:
    """Episodes on sealed seeds: what learns from them has seen what it is measured on."""
    if PURPOSE not in frames.table.column_names:
        return ""
    found = [e for e in frames.extents if frames.plain(PURPOSE, e.first) == Purpose.SEALED]
    if not found:
        return ""
    return (
        f"{len(found)} of {len(frames.extents)} episodes (the first: {found[0].index}) on sealed "
        "seeds: what learns from them has seen what it is measured on"
    )


def _idle(frames: Frames, actions: FloatArray) -> str:
    """Nothing is done in an episode: its actions were not recorded."""
    parts = [actions[extent.first : extent.end] for extent in frames.extents]
    count = sum(len(part) >= STILL and bool((abs(part) <= LEAST).all()) for part in parts)
    return f"{count} of {len(frames.extents)} episodes with all actions 0" if count else ""


def _begins(frames: Frames, seen: FloatArray, wanted: TaskInterface) -> str:
    """Most episodes begin beside where the task's own do: another origin, or an axis for another.

    Or they all begin alike, where in the task they do not: a sensor that each begins anew.
    """
    if not len(wanted.starts):
        return ""
    low, high = wanted.starts.min(axis=0), wanted.starts.max(axis=0)
    slack = (high - low) + ELSEWHERE * np.maximum(1.0, np.abs(low + high) / 2)
    first = seen[[extent.first for extent in frames.extents]]
    beside = ((first < low - slack) | (first > high + slack)).mean(axis=0) > MOST
    if not beside.any():
        same = (np.ptp(first, axis=0) <= LEAST) & (high - low > ELSEWHERE)
        if len(first) < ALIKE or not same.any():
            return ""
        at = int(np.argmax(same))
        return (
            f"{wanted.observation[at]} begins at {first[0, at]:g} in all episodes, and in "
            f"{wanted.task} at {low[at]:g} to {high[at]:g}: set to that by its sensor?"
        )
    at = int(np.argmax(beside))
    return (
        f"{wanted.observation[at]} begins at {first[:, at].min():g} to {first[:, at].max():g}, and "
        f"in {wanted.task} at {low[at]:g} to {high[at]:g}: another origin?"
    )


def _drifts(frames: Frames, seen: FloatArray, wanted: TaskInterface) -> str:
    """An entry begins the farther, the later an episode was recorded: by a rank correlation.

    No accident does so in one of a million entries.
    """
    from scipy.stats import spearmanr  # takes half a second to load

    first = seen[[extent.first for extent in frames.extents]]
    count = len(first)
    if count < FEW:
        return ""
    for name, values in zip(wanted.observation, first.T, strict=True):
        if np.ptp(values) <= LEAST:
            continue
        rank = float(spearmanr(np.arange(count), values).statistic)
        if math.atanh(min(abs(rank), 1.0 - LEAST)) * math.sqrt(count - 3) > SURE:
            return (
                f"{name} begins {'higher' if rank > 0 else 'lower'} from episode to episode, "
                f"{values[0]:.3g} in the first of {count} and {values[-1]:.3g} in the last: a "
                "sensor that drifts, or starts in a row?"
            )
    return ""
