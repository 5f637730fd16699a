"""Joint positions against where they were sent, and against what was shown beside them."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from enpire.datasets.arm_model import ArmModel
from enpire.datasets.compatibility import TaskInterface
from enpire.datasets.folder import Frames
from enpire.datasets.joint_agreement import odd_followers, shown_otherwise
from enpire.datasets.joints import Recorded, require_of_arm
from enpire.datasets.strides import odd_strides
from enpire.environment import build_stations
from enpire.environment.core.motors import Motors
from enpire.errors import StoreError
from enpire.types import FloatArray
from tests.datasets.test_joint_signs import followed

HZ, NAMES = 30.0, ("pan", "lift", "grip")


def told(measured: FloatArray | float = 1.0, sent: FloatArray | float = 1.0) -> str:
    """What is told where both columns are multiplied so."""
    return odd_followers([(m * measured, w * sent) for m, w in followed()], HZ, NAMES, (2,))


def test_axes_that_follow_are_not_told() -> None:
    assert told() == ""


@pytest.mark.parametrize(
    ("measured", "sent", "words"),
    [
        ([1, 1, 1], [1 / 57, 1, 1], "pan moves by .* and is sent over .*not recorded, or in ano"),
        ([1, 1 / 57, 1], [1, 1, 1], "lift moves by .* and is sent over .*a sensor that stands"),
        ([1, 1, 1], [1, 1, 0], "grip moves by .* and is sent over 0 rad: not recorded"),
        ([1, 1, 1], [1, -1, 1], "lift does not go where it is sent .correlation -"),
    ],
)
def test_an_axis_that_does_not_follow_is_told(
    measured: list[float], sent: list[float], words: str
) -> None:
    assert re.search(words, told(np.array(measured), np.array(sent)))


def test_a_gripper_may_stop_at_what_it_holds() -> None:
    assert told(np.array([1, 1, 0.1])) == ""


def test_an_arm_that_is_read_every_other_frame_is_told() -> None:
    slow = [(m[np.arange(len(m)) // 2 * 2], w) for m, w in followed()]
    assert "no axis moves in 50% of the frames" in odd_followers(slow, HZ, NAMES, ())


def test_what_is_shown_is_held_against_what_follows_from_joints() -> None:
    rng = np.random.default_rng(0)
    due = [np.cumsum(rng.normal(0, 0.1, (60, 3)), axis=0) for _ in range(6)]
    for each in due:
        each[:, 2] = np.nan  # an object's
    names = "hand_x", "hand_y", "ball"
    assert shown_otherwise(due, due, names) == ""
    off = [each + np.array([0, 1.5 * (i == 3), 5]) for i, each in enumerate(due)]
    said = "hand_y is 1.5 from where joint positions have it in 1 of 6 episodes (the first in its"
    assert said in shown_otherwise(off, due, names)
    late = [np.concatenate([each[:1].repeat(4, axis=0), each[:-4]]) for each in due]
    assert "of other moments" in shown_otherwise(late, due, names)


@pytest.mark.parametrize("task", ["pick_cube", "pin_box"])
def test_hands_follow_from_joints_and_objects_and_forces_do_not(task: str) -> None:
    stations = build_stations(task, 1, 1)
    motors = Motors.of(build_stations(f"{task}@joints", 1, 1).task)
    assert motors is not None
    arms = ArmModel(stations, motors.axes, motors)
    middle = arms.ranges.mean(axis=1)
    shown = arms.shown_by(np.stack([middle, middle + 0.1]))
    known = np.isfinite(shown).all(axis=0)
    names = stations.task.observation_names
    assert {"hand_x", "hand_y", "hand_z"} <= {n for n, k in zip(names, known, strict=True) if k}
    assert not any(k for n, k in zip(names, known, strict=True) if "lead" in n or "cube" in n)
    at = names.index("hand_y")
    assert shown[0, at] != shown[1, at]


def test_a_gripper_that_holds_something_is_not_where_it_is_sent() -> None:
    stations = build_stations("pick_cube@joints", 1, 1)
    motors = Motors.of(stations.task)
    assert motors is not None
    arms = ArmModel(build_stations("pick_cube", 1, 1), motors.axes, motors)
    assert arms.grippers == (5,)
    measured = np.tile(arms.ranges.mean(axis=1), (20, 1))
    closed, open_ = measured.copy(), measured.copy()
    closed[:, 5], open_[:, 5] = arms.ranges[5]
    frames = Frames.__new__(Frames)
    object.__setattr__(frames, "folder", Path("there"))
    of = frames, Recorded(measured, closed, ""), arms.axes, arms.ranges, arms.name
    require_of_arm(*of, arms.grippers)
    with pytest.raises(StoreError, match=r"gripper.pos is .* away from where action wants it"):
        require_of_arm(*of[:1], Recorded(measured, open_, ""), *of[2:], arms.grippers)


@pytest.mark.parametrize(
    ("factor", "words"),
    [
        (np.array([1, -1, 1]), "1 of 8 episodes .*: 3. in which lift goes against where it is se"),
        (np.array([1, 1, 0]), "1 of 8 episodes .*: 3. in which grip moves, and is sent to one pl"),
    ],
)
def test_one_episode_that_does_not_follow_is_told(factor: FloatArray, words: str) -> None:
    odd = [(m, w * factor if i == 3 else w) for i, (m, w) in enumerate(followed())]
    assert re.search(words, odd_followers(odd, HZ, NAMES, (2,)))


@pytest.mark.parametrize(("sign", "ends"), [(1.0, False), (-1.0, True)])
def test_an_object_that_is_mirrored_beside_joints_is_told(sign: float, ends: bool) -> None:
    rng = np.random.default_rng(0)

    def shown(times: float) -> tuple[FloatArray, FloatArray]:
        hand = np.cumsum(rng.normal(0, 0.1, 80))
        ball = rng.normal(0, 0.05, 80) - hand
        return np.zeros((80, 1)), np.column_stack([hand, times * ball])

    ours = [shown(1.0) for _ in range(6)]
    names = "hand_y", "ball_from_hand_y"
    wanted = TaskInterface("reach", names, ("j",), HZ, demonstrations=lambda: ours)
    said = "; ".join(odd_strides([shown(sign) for _ in range(6)], wanted))
    assert ("hand_y and ball_from_hand_y move against each other otherwise" in said) is ends
    few = TaskInterface("reach", names, ("j",), HZ, demonstrations=lambda: ours[:2])
    assert odd_strides([shown(sign) for _ in range(6)], few) == ()
