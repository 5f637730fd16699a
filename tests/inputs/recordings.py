"""LeRobot datasets whose recording is not what it says: by its words, its verdicts, its seeds.

Every number of them is sound. What they say of themselves is held against their own columns and
against the task.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np

from tests.datasets import wrong
from tests.datasets.wrong import STATE, Made
from tests.inputs.datasets import TASKS, Spoil, file, more_column, nothing, one, parquet
from tests.inputs.entry import TAKEN, TOLD


def instruction(text: str) -> Callable[[Path], object]:
    """A table of one task, in these words."""
    return lambda folder: file(TASKS, parquet(task_index=[0], task=[text]))(folder)


def left_alone(trembling: float) -> Spoil:
    """The last entry of all actions changes by no more than this."""
    moved = np.random.default_rng(0).uniform(-trembling, trembling, 40)

    def spoil(made: Made) -> None:
        made.columns["action"][:, 2] = 0.5 + moved

    return spoil


def of_two_frames(which: int) -> Spoil:
    """An episode that was cut off after two frames, which is all that there is of it."""

    def spoil(made: Made) -> None:
        first = 10 * which
        kept = np.delete(np.arange(40), np.arange(first, first + 8))
        frame = made.columns["frame_index"].copy()
        frame[first + 8 : first + 10] = 0, 1
        made.columns["frame_index"], made.columns["timestamp"] = frame, frame / wrong.FPS
        made.columns = {name: values[kept] for name, values in made.columns.items()}
        made.columns["index"] = np.arange(32)
        made.info["total_frames"] = 32
        for episode in made.episodes:
            later = 8 if episode["episode_index"] > which else 0
            episode["dataset_from_index"] -= later
            episode["dataset_to_index"] -= later
        made.episodes[which]["length"] = 2
        made.episodes[which]["dataset_to_index"] -= 8

    return spoil


def verdicts(*words: object) -> Spoil:
    """A verdict in words of each episode."""
    return more_column("verdict", [word for word in words for _ in range(10)])


def one_seed(made: Made) -> None:
    more_column("seed", np.repeat([7, 8, 7, 9], 10))(made)


def one_seed_and_start(made: Made) -> None:
    one_seed(made)
    made.columns[STATE][20] = made.columns[STATE][0]


def ended(value: float) -> Spoil:
    """The last entry of each episode's last actions."""

    def spoil(made: Made) -> None:
        made.columns["action"][np.arange(40) % 10 >= 6, 2] = value

    return spoil


def in_tenths(made: Made) -> None:
    made.columns["action"][10:20] *= 0.1


def last_filled_up(made: Made) -> None:
    made.columns["action"][9::10] = 0


def sensed(shape: list[int | None] | None, names: list[str] | None = None) -> Spoil:
    """Something more is observed."""

    def spoil(made: Made) -> None:
        made.columns["observation.tactile"] = np.ones((40, 16), np.float32)
        feature = {"dtype": "float32", "shape": shape, "names": names}
        made.info["features"]["observation.tactile"] = feature

    return spoil


CLOSES = replace(
    wrong.WANTED, grippers=(2,), demonstrated=lambda: np.array([[0.0, 0.0, -0.9]]).repeat(8, 0)
)
WORDED = replace(wrong.WANTED, instruction="Reach for the ball.")
GRIPS = np.array([[0.0, 0.0, -1.0], [0.0, 0.0, 0.2]])  # of the task's own demonstration
GRIPPED = replace(wrong.WANTED, grippers=(2,), demonstrated=lambda: GRIPS)
HELD = replace(wrong.WANTED, grippers=(2,), demonstrated=lambda: GRIPS * 0)
NOBODY = replace(wrong.WANTED, grippers=(2,), demonstrated=lambda: GRIPS[:0])
GOOD = "success", "success", "failure", "success"

ALL = (
    one(
        "an instruction of another task",
        nothing,
        "its instruction is 'Fold it.', and reach's is 'Reach for the ball.'",
        TOLD,
        after=instruction("Fold it."),
        wanted=WORDED,
    ),
    one(
        "an instruction that clears the screen",
        nothing,
        r"its instruction is '\\x1b",
        TOLD,
        after=instruction("\x1b[2J"),
        wanted=WORDED,
    ),
    one(
        "an instruction in other letters",
        nothing,
        "by next.success",
        TAKEN,
        after=instruction(" reach for the BALL"),
        wanted=WORDED,
    ),
    one(
        "an instruction of no words",
        nothing,
        "by next.success",
        TAKEN,
        after=instruction(""),
        wanted=WORDED,
    ),
    one(
        "a gripper that nobody moved",
        left_alone(0.0),
        r"action_2, a gripper, hardly moves .0.5 to 0.5., .* from -1 to 0.2",
        TOLD,
        wanted=GRIPPED,
    ),
    one("a gripper that trembles", left_alone(0.01), "hardly moves", TOLD, wanted=GRIPPED),
    one("a gripper that need not move", left_alone(0.0), "by", TAKEN, wanted=HELD),
    one("a gripper that nobody shows", left_alone(0.0), "by", TAKEN, wanted=NOBODY),
    one(
        "a gripper that ends open",
        ended(0.9),
        "is at 0.9 where .* at -0.9: closed for",
        TOLD,
        wanted=CLOSES,
    ),
    one("a gripper that ends closed", ended(-0.9), "by next.success", TAKEN, wanted=CLOSES),
    one("an episode in tenths", in_tenths, "1 of 4 .* no action beyond 0.0", TOLD),
    one(
        "an action of zeros at each end", last_filled_up, "4 of 4 .* whose last action alone", TOLD
    ),
    one(
        "a sense that the task has not",
        sensed([16]),
        "without observation.tactile, which reach does not show",
        TOLD,
    ),
    one("a sense of no shape", sensed(None), "without observation.tactile, which", TOLD),
    one("a sense of an open shape", sensed([None, 3]), "without observation.tactile, which", TOLD),
    one("what is shown once more", sensed([4], list(wrong.OBSERVATION)), "by", TAKEN),
    one("a gripper that moves", nothing, "by next.success", TAKEN, wanted=GRIPPED),
    one(
        "a success of two frames",
        of_two_frames(1),
        "1 of 3 successes .the first: episode 1. with at most 2 frames, where 10 are usual",
        TOLD,
    ),
    one("a failure of two frames", of_two_frames(2), "by next.success", TAKEN),
    one("verdicts in words", verdicts(*GOOD), "by next.success", TAKEN),
    one("verdicts in capitals", verdicts("SUCCESS", *GOOD[1:]), "by next.success", TAKEN),
    one(
        "a verdict of success against its column",
        verdicts(*GOOD[:2], "success", "success"),
        "episode 2: next.success says false and verdict says 'success': correct",
    ),
    one(
        "a verdict of failure against its column",
        verdicts("Aborted", *GOOD[1:]),
        "episode 0: next.success says true and verdict says 'Aborted'",
    ),
    one(
        "a verdict that was found wrong",
        verdicts("failure", *GOOD[1:]),
        "by next.success",
        TAKEN,
        success="next.success",
    ),
    one("verdicts in words of others", verdicts(*"abcd"), "by next.success", TAKEN),
    one("verdicts that are numbers", verdicts(1, 1, 1, 1), "by next.success", TAKEN),
    one(
        "a seed for two starts",
        one_seed,
        "1 of 4 episodes begin otherwise than one of the same seed .episodes 0 and 2 of 7: hand_x",
        TOLD,
    ),
    one("a seed twice for one start", one_seed_and_start, "by next.success", TAKEN),
)
