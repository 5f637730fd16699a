"""Demonstrations begin far apart: of many starts, each is the farthest from those taken before."""

from __future__ import annotations

from itertools import islice
from typing import Any

import numpy as np

from enpire.environment import initial_condition
from enpire.environment.loading import load_task
from enpire.packs import find
from enpire.rollout.collection.demonstration_starts import (
    POOL,
    demonstration_seeds,
    far_apart,
)
from enpire.rollout.evaluation.seeds import stream
from enpire.types import FloatArray


def least(points: FloatArray) -> float:
    """The least distance between two points."""
    apart = np.linalg.norm(points[:, None] - points[None], axis=2)
    return float(apart[~np.eye(len(points), dtype=bool)].min())


def test_on_a_line_the_ends_come_first_and_then_the_middle() -> None:
    assert far_apart(np.array([[0.0], [4.0], [5.1], [10.2]]), 3) == [3, 0, 2]


def test_entries_weigh_alike_whatever_their_units() -> None:
    points = np.random.default_rng(0).uniform(-1.0, 1.0, (200, 3))
    assert far_apart(points, 20) == far_apart(points * (1.0, 1000.0, 0.001), 20)


def test_a_constant_entry_and_no_entry_decide_nothing() -> None:
    points = np.random.default_rng(0).uniform(-1.0, 1.0, (50, 2))
    assert far_apart(np.c_[points, np.full(50, 7.0)], 9) == far_apart(points, 9)
    assert far_apart(np.zeros((5, 0)), 3) == [0, 1, 2]


def test_no_start_is_taken_twice_and_there_are_no_more_than_were_drawn() -> None:
    points = np.random.default_rng(0).integers(0, 2, (40, 2)).astype(float)  # 4 places
    assert sorted(far_apart(points, 99)) == list(range(40))


def test_starts_of_a_task_lie_farther_apart_than_as_they_are_drawn() -> None:
    task: Any = load_task(find("tasks", "zip_tie"))
    spread, drawn = demonstration_seeds(3, 40, task), demonstration_seeds(3, 40)
    assert drawn == list(islice(stream(3, "demonstration"), 40))
    assert set(spread) <= set(islice(stream(3, "demonstration"), POOL))
    unit = np.std([initial_condition(task, seed, False) for seed in drawn], axis=0)
    apart = [
        least(np.array([initial_condition(task, seed, False) for seed in seeds]) / unit)
        for seeds in (spread, drawn)
    ]
    assert apart[0] > 1.5 * apart[1]


def test_fewer_demonstrations_are_the_first_of_more() -> None:
    task: Any = load_task(find("tasks", "pick_cube"))
    assert demonstration_seeds(1, 40, task)[:20] == demonstration_seeds(1, 20, task)


def test_skills_can_only_bring_about_what_their_task_says() -> None:
    task: Any = load_task(find("tasks", "zip_tie"))
    fast, physical = (demonstration_seeds(0, 40, task, by_skills) for by_skills in (False, True))
    assert fast != physical
    assert len(set(physical)) == 40
