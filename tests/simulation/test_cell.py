"""A simulated station does on its clock what it is sent, and is read as an arm is."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from enpire.environment import load_task
from enpire.errors import PackError, SafetyError
from enpire.packs import find, load_robot, load_world
from enpire.simulation.cell import SimulatedCell

SECOND = 10**9


class Clock:
    now = 10**12

    def __call__(self) -> int:
        return self.now


def cell(seed: int = 0, drawn: Any = None) -> tuple[SimulatedCell, Clock]:
    """drawn: what the task draws for every seed; None: as it does."""
    clock, task = Clock(), load_task(find("tasks", "pick_cube"))
    if drawn is not None:
        task.sample = lambda rng: drawn  # type: ignore[method-assign]
    world, robot = load_world(find("sim", task.world)), load_robot(find("robots", task.robot))
    return SimulatedCell(task, world, robot, seed, clock), clock


def passed(one: SimulatedCell, clock: Clock, seconds: float) -> None:
    for _ in range(round(seconds / 0.005)):
        clock.now += 5_000_000
        one.advance()


def test_it_goes_where_it_is_sent_and_stays_where_it_is_stopped() -> None:
    one, clock = cell()
    start = one.reading()
    assert start.position.shape == (6,)
    target = start.position + np.array([0.1, 0, 0, 0, 0, -0.1])
    one.send(target)
    passed(one, clock, 1.0)
    assert one.reading().position == pytest.approx(target, abs=0.01)
    assert clock.now - one.reading().stamp < 5_000_000
    one.emergency(True)
    one.send(start.position)
    passed(one, clock, 0.5)
    assert one.reading().position[0] == pytest.approx(target[0], abs=0.01)
    one.emergency(False)
    one.send(start.position)
    passed(one, clock, 0.5)
    assert one.reading().position[0] == pytest.approx(start.position[0], abs=0.01)


def test_the_tracker_sees_the_cube_where_it_was_put_with_its_noise() -> None:
    one, clock = cell()
    variation = one.task.sample(np.random.default_rng(3))
    one.set_initial_state(variation)
    assert not one.placed
    passed(one, clock, 1.0)
    assert one.placed
    seen = []
    for _ in range(50):
        passed(one, clock, 0.04)
        seen.append(one.objects().position[0])
    off = np.mean(seen, axis=0)[:2] - variation[:2]
    assert 0 < np.linalg.norm(off) < 0.01
    assert 0.0005 < np.std(seen, axis=0).max() < 0.004


def test_what_is_no_initial_condition_is_refused() -> None:
    one, _ = cell()
    with pytest.raises(SafetyError, match="varies 10 finite numbers"):
        one.set_initial_state(np.zeros(3))
    with pytest.raises(SafetyError, match="finite"):
        one.randomize_physics(np.full(10, np.nan))


@pytest.mark.parametrize(
    ("drawn", "words"),
    [
        (np.full(10, np.nan), "sample returns nan for"),
        (np.zeros(3), r"sample returns shape \(3,\)"),
        (np.zeros(10, complex), "sample returns complex128"),
    ],
)
def test_a_draw_that_is_none_is_refused_as_it_begins(drawn: Any, words: str) -> None:
    with pytest.raises(PackError, match=words):
        cell(drawn=drawn)


def test_a_machine_that_is_too_slow_has_a_slower_world() -> None:
    one, clock = cell()
    before = one.reading().stamp
    clock.now += 10 * SECOND
    one.advance()
    assert clock.now - one.reading().stamp < 5_000_000
    assert one.reading().stamp > before
