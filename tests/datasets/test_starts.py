"""What a dataset is held against: starts, motion and a demonstration of the task's own."""

from __future__ import annotations

import numpy as np

from enpire.datasets import demonstrated, first_seen
from enpire.environment import RandomActions, Stations
from tests.environment.reach import reach_stations


class Unshown:
    """Stations of a task that nobody shows."""

    def __init__(self, stations: Stations) -> None:
        self.action_size = stations.action_size
        self.starter = "random", RandomActions(stations.action_size)


def test_a_demonstration_is_the_tasks_own() -> None:
    stations = reach_stations(1)
    done = demonstrated(stations)
    assert done.shape == (len(done), stations.action_size)
    assert np.ptp(done, axis=0).max() > 0.1
    assert len(first_seen(stations, 2)) == 2, "the stations are free again"


def test_nobody_shows_what_has_no_demonstrator() -> None:
    stations = reach_stations(1)
    done = demonstrated(Unshown(stations))  # type: ignore[arg-type]
    assert done.shape == (0, stations.action_size)
