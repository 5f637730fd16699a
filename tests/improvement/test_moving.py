"""Moments that are moved with their scene, beside readings that are."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy.spatial.transform import Rotation

from enpire.environment import (
    Demonstrations,
    Job,
    Readings,
    Task,
    build_stations,
    load_task,
    read_symmetry,
)
from enpire.improvement.moving import moved, moved_by
from enpire.packs import available, find
from enpire.types import FloatArray, Purpose

TASKS = [name for name in available("tasks") if read_symmetry(load_task(find("tasks", name)))]
TURN, SHIFT = 0.4, np.array([0.02, -0.03, 0.01])


def test_five_tasks_say_how_they_may_be_moved() -> None:
    assert TASKS == ["gpu_insertion", "pick_cube", "pin_box", "tool_use", "zip_tie"]


def _readings(name: str, count: int) -> tuple[Task, Readings]:
    """Some of an episode of the demonstrator."""
    stations = build_stations(name, 1, 1)
    task, taken = stations.task, []
    observe = task.observe

    def kept(readings: Readings) -> FloatArray:
        taken.append(Readings.joined([readings]))
        return observe(readings)

    task.observe = kept  # type: ignore[method-assign, assignment]
    stations.begin(0, Job(3, Purpose.DEMONSTRATION, Demonstrations(task), "demonstrator"))
    while len(taken) < count:
        stations.tick()
    task.observe = observe  # type: ignore[method-assign]
    return task, Readings.joined(taken[::7])


def _carried(readings: Readings, turn: float, shift: FloatArray) -> Readings:
    """The readings of a scene that was turned about the world's vertical and shifted."""
    z = Rotation.from_rotvec([0.0, 0.0, turn]).as_matrix()
    return replace(
        readings,
        hand_position=readings.hand_position @ z.T + shift,
        hand_rotation=z @ readings.hand_rotation,
        wrist_force=readings.wrist_force @ z.T,
        lead=readings.lead @ z.T,
        position=readings.position @ z.T + shift,
        rotation=z @ readings.rotation,
    )


@pytest.mark.parametrize("name", TASKS)
def test_a_moved_observation_is_that_of_the_moved_scene(name: str) -> None:
    task, readings = _readings(name, 40)
    symmetry = read_symmetry(task)
    assert symmetry is not None
    # The turn is about the first point's centre, and not about the world's axis.
    pivot = np.array([*symmetry.points[0].centre[:2], 0.0])
    z = Rotation.from_rotvec([0.0, 0.0, TURN]).as_matrix()
    shift = SHIFT * (np.array(symmetry.shift) > 0)
    expected = task.observe(_carried(readings, TURN, shift + pivot - z @ pivot))
    seen = torch.from_numpy(task.observe(readings))[:, None]
    actions = torch.zeros(len(seen), 1, task.actions.size)
    moved_to, _ = moved_by(
        symmetry,
        seen,
        actions,
        torch.full((len(seen), 1), TURN),
        torch.tensor(shift, dtype=torch.float32)[:, None, None].expand(3, len(seen), 1),
    )
    np.testing.assert_allclose(moved_to[:, 0].numpy(), expected, atol=0.02)
    assert abs(expected - task.observe(readings)).max() > 0.1  # and it did move


def test_actions_turn_with_the_scene_and_heights_and_grippers_stay() -> None:
    symmetry = read_symmetry(load_task(find("tasks", "zip_tie")))
    assert symmetry is not None
    actions = torch.zeros(1, 1, 14)
    actions[0, 0, :7] = torch.tensor([0.5, 0.0, 0.3, 0.0, 0.2, 0.1, -1.0])
    actions[0, 0, 7:] = torch.tensor([0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0])
    _, done = moved_by(
        symmetry, torch.zeros(1, 2, 38), actions, torch.tensor([[np.pi / 2]]), torch.zeros(3, 1, 1)
    )
    np.testing.assert_allclose(done[0, 0, :7], [0, 0.5, 0.3, -0.2, 0, 0.1, -1], atol=1e-6)
    np.testing.assert_allclose(done[0, 0, 7:], [-1, 0, 0, 0, 0, 0, 1], atol=1e-6)


def test_each_row_is_moved_by_itself_and_no_farther_than_allowed() -> None:
    symmetry = read_symmetry(load_task(find("tasks", "pick_cube")))
    assert symmetry is not None
    (point,) = symmetry.points
    history, actions = torch.zeros(500, 2, 16), torch.zeros(500, 3, 7)
    before = history.clone()
    seen, _ = moved(symmetry, history, actions, torch.Generator().manual_seed(0))
    assert torch.equal(history, before)
    places = seen[:, :, list(point.entries)] * point.unit
    assert torch.equal(places[:, 0], places[:, 1])  # both observations of a row
    assert places[..., 2].abs().max() == 0.0
    widest = places[:, 0, :2].abs().max(dim=0).values
    assert (widest <= 0.09 + 1e-6).all()
    assert (widest > 0.08).all()
