"""What a task says of an episode before it is run."""

from __future__ import annotations

import numpy as np

from enpire.environment import CartesianControl, Job, initial_condition
from enpire.twin import Twin
from enpire.types import FloatArray, Purpose
from tests.environment.reach import Reach, Restored, Speed, reach_stations


class Placed(Reach):
    """Writes down what it places."""

    def __init__(self) -> None:
        super().__init__()
        self.placed: list[FloatArray] = []

    def set_initial_state(
        self, twin: Twin, control: CartesianControl, row: int, variation: FloatArray
    ) -> None:
        self.placed.append(variation)
        super().set_initial_state(twin, control, row, variation)


def test_an_initial_condition_is_known_before_it_is_run() -> None:
    task = Placed()
    before = initial_condition(task, 5, physical=False)
    stations = reach_stations(task=task)
    stations.begin(0, Job(5, Purpose.COLLECTION, Speed(), "p", variant=7))
    stations.abort("seen enough")
    assert np.array_equal(task.placed[0], before)
    assert not np.array_equal(initial_condition(task, 6, physical=False), before)
    whole = initial_condition(Restored(), 5, physical=False)
    assert np.array_equal(initial_condition(Restored(), 5, physical=True), whole[1:]), (
        "joint1, no goal"
    )
