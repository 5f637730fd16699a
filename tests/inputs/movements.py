"""LeRobot datasets whose numbers fit, and that move otherwise than their task.

A hand on a table, a ball that a tracker sees from the hand, and a gripper. The dataset's person
moves slowly; what an action does is the same as in the task's own random motion.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np

from enpire.datasets import Allowed, TaskInterface, demonstrations
from enpire.datasets.compatibility import gains_of, going_with
from enpire.types import FloatArray
from tests.datasets.wrong import FPS, Made, good
from tests.inputs.datasets import PLAIN
from tests.inputs.entry import REFUSED, TAKEN, TOLD, Input

SEEN = "hand_x", "hand_y", "ball_from_hand_x", "ball_from_hand_y", "gripper"
DONE = "action_0", "action_1", "action_2"
EPISODES, LENGTH, STEP, NOISE = 10, 40, 0.05, 0.004
Pair = tuple[FloatArray, FloatArray]
Change = Callable[[FloatArray, FloatArray], object]


def moved(rng: np.random.Generator, held: int, length: int) -> Pair:
    """An episode: actions (length, 3), each held for so many frames, and what is seen (length, 5).

    A hand begins to follow at once and is there a frame later; the ball lies still.
    """
    draws = rng.uniform(-1, 1, (length // held + 1, 3))
    actions = np.repeat(draws, held, axis=0)[:length]
    steps = np.zeros((length, 2))
    steps[1:] += 0.3 * STEP * actions[:-1, :2]
    steps[2:] += 0.7 * STEP * actions[:-2, :2]
    hand = rng.uniform(-0.3, 0.3, 2) + np.cumsum(steps, axis=0)
    ball = rng.uniform(-0.3, 0.3, 2)
    grip = np.zeros(length)
    for row in range(1, length):
        grip[row] = 0.4 * grip[row - 1] + 0.6 * actions[row - 1, 2]
    seen = np.column_stack([hand, ball - hand, grip])
    seen[:, :4] += rng.normal(0, NOISE, (length, 4))
    return actions, seen


def wanted() -> TaskInterface:
    """The task, with its own random motion."""
    rng = np.random.default_rng(1)
    random = [moved(rng, 5, 60) for _ in range(4)]
    return TaskInterface(
        "reach",
        SEEN,
        DONE,
        float(FPS),
        moves=going_with(random),
        gains=gains_of(random),
        grippers=(2,),
        random=random,
        held=[moved(rng, 25, 60) for _ in range(2)],
    )


def recorded(change: Change, count: int = EPISODES) -> Made:
    """A dataset of it. change: writes into each episode's actions and what is seen in it."""
    rng, made = np.random.default_rng(2), good()
    pairs = [moved(rng, 3, LENGTH) for _ in range(count)]
    for pair in pairs:
        change(*pair)
    frame = np.tile(np.arange(LENGTH), count)
    made.columns = {
        "observation.state": np.concatenate([seen for _, seen in pairs]).astype(np.float32),
        "action": np.concatenate([done for done, _ in pairs]).astype(np.float32),
        "next.success": frame == LENGTH - 1,
        "timestamp": (frame / FPS).astype(np.float32),
        "frame_index": frame,
        "episode_index": np.repeat(np.arange(count), LENGTH),
        "index": np.arange(count * LENGTH),
    }
    made.episodes = [
        made.episodes[0]
        | {
            "episode_index": i,
            "length": LENGTH,
            "dataset_from_index": i * LENGTH,
            "dataset_to_index": (i + 1) * LENGTH,
        }
        for i in range(count)
    ]
    for name, names in (("observation.state", SEEN), ("action", DONE)):
        made.info["features"][name] |= {"shape": [len(names)], "names": list(names)}
    made.info |= {"total_episodes": count, "total_frames": len(frame)}
    return made


def one(
    name: str,
    change: Change,
    words: str,
    ends: str = TOLD,
    task: TaskInterface | None = None,
    count: int = EPISODES,
) -> Input:
    """An entry. task: None: with its own random motion. count: of episodes."""

    def give(folder: Path) -> tuple[str, str]:
        found = demonstrations(recorded(change, count).write(folder), task or wanted(), Allowed())
        return (TAKEN if found.said == PLAIN else TOLD), "; ".join(found.said)

    return Input(name, give, words, ends)


def as_it_was(actions: FloatArray, seen: FloatArray) -> None:
    """Nothing is changed."""


def seen_times(factor: float, *entries: int) -> Change:
    """Entries in another scale or sign."""

    def change(_: FloatArray, seen: FloatArray) -> None:
        seen[:, entries] *= factor

    return change


def done_times(factor: float, *entries: int) -> Change:
    """Actions in another scale or sign."""

    def change(actions: FloatArray, _: FloatArray) -> None:
        actions[:, entries] *= factor

    return change


def exchanged(one: int, other: int) -> Change:
    """An entry in another one's place."""

    def change(_: FloatArray, seen: FloatArray) -> None:
        seen[:, [one, other]] = seen[:, [other, one]]

    return change


def tracker_late(frames: int) -> Change:
    """What the tracker says is seen so many frames later than the hand."""

    def change(_: FloatArray, seen: FloatArray) -> None:
        if frames:
            seen[frames:, 2:4] = seen[:-frames, 2:4].copy()

    return change


def tracker_stops(_: FloatArray, seen: FloatArray) -> None:
    """The tracker tells one place in the last frames."""
    seen[-12:, 2:4] = seen[-13, 2:4]


class Repeated:
    """All episodes are the first one, each with a little noise of its own."""

    def __init__(self) -> None:
        self._rng = np.random.default_rng(0)
        self._first: Pair | None = None

    def __call__(self, actions: FloatArray, seen: FloatArray) -> None:
        if self._first is None:
            self._first = actions.copy(), seen.copy()
        actions[:], seen[:] = self._first
        seen += self._rng.normal(0, 1e-3, seen.shape)


def stands_first(actions: FloatArray, seen: FloatArray) -> None:
    """The first row stands for the six after it, too."""
    actions[1:7], seen[1:7] = actions[0], seen[0]


def late(frames: int) -> Change:
    """Actions that were written so many frames after they were done."""

    def change(actions: FloatArray, _: FloatArray) -> None:
        actions[:] = np.concatenate([actions[:1].repeat(frames, axis=0), actions[:-frames]])

    return change


def seen_late(frames: int) -> Change:
    """What is seen comes so many frames later."""

    def change(_: FloatArray, seen: FloatArray) -> None:
        seen[:] = np.concatenate([seen[:1].repeat(frames, axis=0), seen[:-frames]])

    return change


def lost(value: float | None, rows: slice) -> Change:
    """The ball is told at one place for some frames of an episode: 0, or where it was."""
    episodes = iter(range(EPISODES))

    def change(_: FloatArray, seen: FloatArray) -> None:
        if next(episodes) == 3:
            seen[rows, 2:4] = seen[rows.start, 2:4] if value is None else value

    return change


def filled_up(actions: FloatArray, seen: FloatArray) -> None:
    """The last row stands for those after it."""
    for values in actions, seen:
        values[-8:] = values[-9]


def joined() -> Change:
    """The second half of one is of another episode: the hand is at once somewhere else."""
    episodes = iter(range(EPISODES))

    def change(_: FloatArray, seen: FloatArray) -> None:
        if next(episodes) == 3:
            seen[20:, :2] += 1.0
            seen[20:, 2:4] -= 1.0

    return change


def stutters(_: FloatArray, seen: FloatArray) -> None:
    """The ball's tracker is slower than the recording: every third frame has the one before."""
    seen[2::3, 2:4] = seen[1::3, 2:4][: len(seen[2::3])]


def in_one(change: Change) -> Change:
    """One episode is otherwise."""
    episodes = iter(range(EPISODES))

    def changed(actions: FloatArray, seen: FloatArray) -> None:
        if next(episodes) == 3:
            change(actions, seen)

    return changed


def backwards(actions: FloatArray, seen: FloatArray) -> None:
    """Its frames are in reverse, numbered as if they were not."""
    actions[:], seen[:] = actions[::-1].copy(), seen[::-1].copy()


def hurried(actions: FloatArray, seen: FloatArray) -> None:
    """Every second frame of a recording that was twice as long."""
    done, shown = moved(np.random.default_rng(3), 6, 2 * LENGTH)
    actions[:], seen[:] = done[::2], shown[::2]


def moved_by(offset: float, *entries: int) -> Change:
    """Entries from another origin."""

    def change(_: FloatArray, seen: FloatArray) -> None:
        seen[:, entries] += offset

    return change


def slow(actions: FloatArray, seen: FloatArray) -> None:
    """Whoever demonstrates takes more time."""
    actions *= 0.5
    seen[:] = 0.5 * (seen + seen[0])


def noisy(_: FloatArray, seen: FloatArray) -> None:
    """A worse sensor."""
    seen[:, :4] += np.random.default_rng(3).normal(0, 8 * NOISE, (LENGTH, 4))


def some(change: Change, *which: int) -> Change:
    """These episodes are otherwise."""
    episodes = iter(range(EPISODES))

    def changed(actions: FloatArray, seen: FloatArray) -> None:
        if next(episodes) in which:
            change(actions, seen)

    return changed


def filled_in(actions: FloatArray, seen: FloatArray) -> None:
    """Half as long a recording, with a frame between each two."""
    done, shown = moved(np.random.default_rng(3), 3, LENGTH // 2)
    actions[:], seen[:] = (np.repeat(each, 2, axis=0) for each in (done, shown))
    seen[1:-1:2] = (seen[:-2:2] + seen[2::2]) / 2


def of_another(actions: FloatArray, _: FloatArray) -> None:
    """Actions of another episode."""
    actions[:] = moved(np.random.default_rng(77), 3, LENGTH)[0]


def in_any_order(actions: FloatArray, seen: FloatArray) -> None:
    """Frames that were sorted by something else."""
    order = np.random.default_rng(0).permutation(LENGTH)
    actions[:], seen[:] = actions[order], seen[order]


def drifting(_: FloatArray, seen: FloatArray) -> None:
    """An encoder that loses steps."""
    seen[:, 0] += np.linspace(0, 3, LENGTH)


def exchanged_actions(actions: FloatArray, _: FloatArray) -> None:
    """An action in another one's place."""
    actions[:, [0, 1]] = actions[:, [1, 0]]


def consistently(actions: FloatArray, seen: FloatArray) -> None:
    """All that is told of an axis is turned round: nothing in the numbers is against it."""
    actions[:, 1] *= -1.0
    seen[:, [1, 3]] *= -1.0


def early(_: FloatArray, seen: FloatArray) -> None:
    """What is seen comes five frames sooner."""
    seen[:] = np.concatenate([seen[5:], seen[-1:].repeat(5, axis=0)])


def tailed(_: FloatArray, seen: FloatArray) -> None:
    """The end of another one."""
    seen[-10:] = moved(np.random.default_rng(5), 3, 10)[1] + np.array([1.0, 1.0, -1.0, -1.0, 0.0])


def grips_up(actions: FloatArray, _: FloatArray) -> None:
    """A gripper's actions go from 0 to 1."""
    actions[:, 2] = (actions[:, 2] + 1) / 2


def grips(sign: float) -> Change:
    """A gripper that opens and closes; with -1 its actions say the opposite."""

    def change(actions: FloatArray, seen: FloatArray) -> None:
        wide = np.repeat([0.8, -0.9], LENGTH // 2)
        actions[:, 2], seen[:, 4] = sign * wide, np.r_[wide[:3], wide[:-3]]

    return change


def at_their_ends(actions: FloatArray, _: FloatArray) -> None:
    """All that is known of an action is its sign."""
    actions[:] = np.sign(actions)


def stale(*entries: int) -> Change:
    """Entries that tell their first value."""

    def change(_: FloatArray, seen: FloatArray) -> None:
        seen[:, entries] = seen[0, entries]

    return change


def held(actions: FloatArray, seen: FloatArray) -> None:
    """A gripper that nobody moved."""
    actions[:, 2], seen[:, 4] = 0.1, 0.1


def drifts(by: float) -> Change:
    """A hand that each episode shows farther by so much."""

    def change(_: FloatArray, seen: FloatArray) -> None:
        seen[:, 0] += by * next(episode)

    episode = itertools.count()
    return change


UNKNOWN = TaskInterface("reach", SEEN, DONE, float(FPS))  # nothing is known of how it moves
PLACES = replace(UNKNOWN, random=wanted().random, held=wanted().held)  # no gripper is known
BACK, STALE = "the first: 3. in which what actions move goes before", "stands still, though action_"
APART = "do not move together as in reach"
ALL = (
    one("a hand that moves as in the task", as_it_was, "by next.success", TAKEN),
    one("a hand in another scale", seen_times(2.0, 0, 1), "hand_. 2 times as far as in reach"),
    one("actions that are half of it", done_times(0.5, 0, 1), "hand_x .* times as far as in reach"),
    one("a tracker with one axis turned round", seen_times(-1.0, 3), f"ball_from_hand_y {APART}"),
    one("a tracker with its axes exchanged", exchanged(2, 3), "hardly moves ball_from_hand_x"),
    one("a tracker that told one place", seen_times(0.0, 2, 3), "ball_from_hand_x"),
    one("actions that are written late", late(1), "sooner than in reach: .* written late"),
    one("sensors that are late", seen_late(2), "later than in reach: .* seen late"),
    one(
        "a gripper whose action is turned round",
        done_times(-1.0, 2),
        "moves gripper the other way",
        REFUSED,
    ),
    one("a gripper that told nothing", seen_times(0.0, 4), "gripper do not go together"),
    one("a ball that is lost for a frame", lost(0.0, slice(20, 21)), "is exactly 0 somewhere"),
    one(
        "a ball that is at -1 for a frame", lost(-1.0, slice(20, 21)), "ball_from_hand_x (jumps|is)"
    ),
    one("a ball that is lost for long", lost(0.0, slice(20, 39)), "first: 3. in which ball_from"),
    one("a tracker that stood in an episode", lost(None, slice(0, 40)), "first: 3. in which ball"),
    one("an episode that runs backwards", in_one(backwards), BACK),
    one("one that runs backwards, of any task", in_one(backwards), BACK, task=UNKNOWN),
    one("a gripper by actions from 0 to 1", grips_up, "gripper goes 1.6 times as far for its"),
    one("all actions at their ends", at_their_ends, "100% of what actions say is 1 or -1"),
    one("all that run backwards", backwards, "the other way than in reach", REFUSED),
    one(
        "one whose actions are late", in_one(late(5)), "3. in which all .* 5 .*sooner", task=UNKNOWN
    ),
    one("a gripper that told its first value", in_one(stale(4)), f"gripper {STALE}2", task=UNKNOWN),
    one("a hand that told its first place", in_one(stale(0)), f"hand_x {STALE}0", task=UNKNOWN),
    one("a hand that told its height only", in_one(stale(0, 2)), f"hand_x {STALE}0", task=UNKNOWN),
    one("a gripper that need not move here", in_one(held), "by", TAKEN, task=UNKNOWN),
    one("a hand of any task", as_it_was, "by next.success", TAKEN, task=UNKNOWN),
    one("rows that fill an episode up", filled_up, "10 of 10 .* one row over and over"),
    *(
        one(f"{name}, {of}", in_one(change), f"1 of 10 .*first: 3. {words}", task=task)
        for of, task in (("of the task", None), ("of any task", UNKNOWN))
        for name, change, words in (
            ("one that is mirrored", seen_times(-1.0, 1), "in which actions move hand_y the other"),
            ("one of other signs", done_times(-1.0, 0), "in which actions move .*hand_x the other"),
            ("one that was hurried", hurried, "in which actions move all 2"),
            ("one of another origin", moved_by(5.0, 0), "in which hand_x is at .*: another origin"),
            ("one that is noisier", noisy, "with .* times the noise of any other"),
        )
    ),
    *(
        one(name, change, words, task=UNKNOWN)
        for name, change, words in (
            (
                "two that were hurried",
                some(hurried, 2, 5),
                "2 of 10 .*: 2. in which actions move all",
            ),
            ("two of another origin", some(moved_by(5.0, 0), 2, 5), "2 of 10 .* another origin"),
            ("two that are noisier", some(noisy, 2, 5), "2 of 10 .* times the noise of any other"),
            (
                "one that was filled in",
                in_one(filled_in),
                r"all 0\.\d+ times as far as in the others",
            ),
            (
                "one mirrored in x and y",
                in_one(seen_times(-1.0, 0, 1)),
                "move hand_x the other way",
            ),
            (
                "one mirrored ball",
                in_one(seen_times(-1.0, 2)),
                "move ball_from_hand_x the other way",
            ),
            ("one in mm", in_one(seen_times(1000.0, 0, 1)), "hand_. "),
            ("one with the actions of another", in_one(of_another), "not as in the others .corr"),
            ("one with its actions exchanged", in_one(exchanged_actions), "not as in the others"),
            ("one that is seen early", in_one(early), "follows its actions 5 frames sooner"),
        )
    ),
    *(
        one(f"{name}, of five", in_one(change), f"1 of 5 .*first: 3. {words}", count=5)
        for name, change, words in (
            ("one mirrored", seen_times(-1.0, 1, 3), "in which actions move hand_y the other way"),
            (
                "one mirrored by its actions",
                done_times(-1.0, 1),
                "in which actions move hand_y the",
            ),
            ("one that was hurried", hurried, "in which actions move all (1.[89]|2)"),
        )
    ),
    one("five as they should be", as_it_was, "by next.success", TAKEN, count=5),
    one("one of five that is slow", in_one(slow), "by next.success", TAKEN, count=5),
    one("one of five from elsewhere", in_one(moved_by(0.5, 0)), "by next.succ", TAKEN, count=5),
    one(
        "a tracker that is three frames late",
        tracker_late(3),
        "ball_from_hand_x comes 3 frames later than hand_x .correlation .*: seen late",
    ),
    one("a tracker that is in time", tracker_late(0), "by next.success", TAKEN),
    one(
        "a tracker that stops before the end of all episodes",
        tracker_stops,
        "10 of 10 episodes .*ball_from_hand_x, which else changes in each frame, stays the same",
    ),
    one(
        "the same actions in all episodes, with other noise",
        Repeated(),
        "9 of 10 episodes with all actions of another one: copies of it",
    ),
    one(
        "episodes that begin with one row over and over",
        stands_first,
        "10 of 10 episodes .*whose first 5 rows or more are one row over and over",
    ),
    one(
        "a tracker that is slower",
        stutters,
        "10 of 10 episodes .*ball_from_hand_x is in many frames what it was in the one before",
    ),
    one("five that are noisier", noisy, "by next.success", TAKEN, count=5),
    one(
        "a place that is gone to at the other end",
        grips(-1.0),
        "gripper does not go where action_2 says, but to the other end .correlation -",
        task=PLACES,
    ),
    one("a place that is gone to", grips(1.0), "by next.success", TAKEN, task=PLACES),
    one(
        "a hand that drifts from episode to episode",
        drifts(0.7),
        "hand_x begins higher from episode to episode, .* of 10 and .*: a sensor that dri",
        task=UNKNOWN,
    ),
    one("a hand that drifts a little", drifts(0.002), "by next.success", TAKEN, task=UNKNOWN),
    one("one in any order", in_one(in_any_order), "the first: 3. with .* the noise of any other"),
    one("one that ends with another", in_one(tailed), "jumps by"),
    one("one mirrored consistently", in_one(consistently), "by next", TAKEN, task=UNKNOWN),
    one("one that drifts", in_one(drifting), "by next.success", TAKEN, task=UNKNOWN),
    one("one of a slow hand", in_one(slow), "by next.success", TAKEN, task=UNKNOWN),
    one("two episodes in one", joined(), "jumps by"),
)
