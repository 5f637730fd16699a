"""Whether what a task's methods return fits what the task says of itself."""

from __future__ import annotations

import numpy as np

from enpire.environment import Stations
from enpire.environment.core.answers import drawn_of, looks_done, observed, truth_of
from enpire.errors import PackError

DRAWS = 8  # initial conditions that are not to be all the same


def require_fit(stations: Stations) -> None:
    """Raise PackError unless the task's methods return what it says of itself."""
    task = stations.task
    file = task.folder / "task.py"
    arms = len(stations.twin.scene.arms)
    if len(task.actions.arms) != arms:
        raise PackError(
            f"{file}: actions for {len(task.actions.arms)} arms; {task.robot} has {arms}"
        )
    variation = drawn_of(task, np.random.default_rng(0))
    others = [drawn_of(task, np.random.default_rng(seed)) for seed in range(1, DRAWS)]
    if len(variation) and all(np.array_equal(variation, each) for each in others):
        raise PackError(
            f"{file}: sample returns the same for each of {DRAWS} seeds: every episode would be "
            "the same one. Draw from its `rng`, or leave variation_names empty"
        )
    stations.set_initial_state(0, variation)
    stations.sensors.begin(0, np.random.default_rng(0))
    row = np.array([0])
    readings, _ = stations.sensors.read(row, [0])
    observed(task, readings)
    looks_done(task, readings)
    truth_of(task, stations.twin, 0)
    demonstrator = task.demonstrator(np.random.default_rng(0))
    found, needs = np.shape(demonstrator.act(readings)), (task.actions.size,)
    if found != needs:
        raise PackError(f"{file}: the demonstrator's act returns shape {found}, expected {needs}")
