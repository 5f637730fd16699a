"""The demonstrator of pick_cube against the limits of the arm."""

from __future__ import annotations

import pytest

from enpire.certification.episodes import run
from enpire.certification.limits import LimitWatcher
from enpire.environment import Demonstrations, Job, build_stations
from enpire.types import Purpose


# The first struck the cube's top with 46 N when the hand went down as fast as it could. The second
# was felt with 40 N when only the descent was slowed: the jaw shut while the hand still went down.
@pytest.mark.parametrize("seed", [4585979581951288031, 75693569145582014])
def test_the_hand_presses_on_nothing(seed: int) -> None:
    stations = build_stations("pick_cube", 1, 1)
    limits = LimitWatcher(stations)
    jobs = [Job(seed, Purpose.EVALUATION, Demonstrations(stations.task), "demonstrator")]
    (episode,) = run(stations, jobs, limits)
    assert episode.success
    assert limits.force.looks > 0
    for limit in (limits.force, limits.hand_speed, limits.workspace):
        assert limit.beyond == 0, limit.row().detail
