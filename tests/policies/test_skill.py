"""A skill script's values as a policy: kept, read back, and run on the task they are for."""

from __future__ import annotations

import numpy as np
import pytest

from enpire.environment import Job
from enpire.errors import PolicyError
from enpire.policies import SkillPolicy, SkillSpec, load, metadata
from enpire.types import Purpose
from tests.environment.reach import reach_stations
from tests.environment.tuned import Tuned

SPEC = SkillSpec("reach", 2, 7, ("speed", "stop"))


def policy(*values: float) -> SkillPolicy:
    return SkillPolicy(SPEC, np.array(values))


def test_a_skill_is_read_back_as_one() -> None:
    one = policy(0.7, 0.25)
    copy = load(metadata(one), one.tensors())
    assert isinstance(copy, SkillPolicy)
    assert copy.spec == SPEC
    assert copy.values.tobytes() == one.values.tobytes()


def test_what_is_no_skill() -> None:
    with pytest.raises(PolicyError, match="2 parameters"):
        policy(1.0)
    with pytest.raises(PolicyError, match="one tensor, 'values'"):
        SkillPolicy.load(SPEC.to_json(), {"weights": np.zeros(2)})
    with pytest.raises(PolicyError, match="not a skill's description"):
        SkillPolicy.load("{}", {"values": np.zeros(2)})


def test_it_does_what_its_values_say() -> None:
    stations = reach_stations(2, task=Tuned())
    jobs = [
        Job(3, Purpose.EVALUATION, policy(*values).controller(stations), "p")
        for values in ((0.4, 0.25), (1.0, 0.25))
    ]
    for row, job in enumerate(jobs):
        stations.begin(row, job)
    done = {}
    while stations.busy:
        done |= {e.station: e for e in stations.tick()}
    assert (done[0].actions[:3, 0] == np.float32(0.4)).all()
    assert done[1].success
    assert len(done[1]) < len(done[0])


def test_another_task_has_no_use_for_it() -> None:
    with pytest.raises(
        PolicyError, match="speed, stop of the skill script of reach; that of reach"
    ):
        policy(1.0, 0.25).controller(reach_stations())
