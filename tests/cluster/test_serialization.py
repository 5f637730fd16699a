"""A controller acts on another machine as it would here."""

from __future__ import annotations

import sys
import threading
from pathlib import Path

import numpy as np
import pytest
import torch

from enpire.cluster.serialization import PackedController, RecentCache, pack, settings_of, unpack
from enpire.environment import (
    Controller,
    Demonstrations,
    InterventionWrapper,
    Job,
    RandomActions,
    Replay,
    Stations,
    Task,
)
from enpire.errors import PolicyError
from enpire.improvement.failure_detectors import NoProgress
from enpire.improvement.value import Value
from enpire.packs.modules import import_file
from enpire.policies import ChunkPolicy, ChunkSpec, FlowPolicy, FlowSpec
from enpire.policies.skill import SkillController
from enpire.types import Episode, Purpose
from tests.environment.reach import Reach, reach_stations
from tests.needs import needs

needs("ray")
SPEC = ChunkSpec("reach", observation=2, action=7, hidden=(8,))


def policy() -> ChunkPolicy:
    torch.manual_seed(0)
    return ChunkPolicy(SPEC)


def flow() -> FlowPolicy:
    torch.manual_seed(0)
    return FlowPolicy(FlowSpec.of(SPEC))


def corrected(stations: Stations, shown: Episode) -> Controller:
    value = Value.of([shown], 0.99, 1, 5, 0)
    watch = NoProgress(value, stations.execute_periods, 2)
    driven = policy().controller(stations)
    return InterventionWrapper(driven, Demonstrations(stations.task), watch, stations.task.actions)


def episode(stations: Stations, controller: Controller, **how: float) -> Episode:
    stations.begin(0, Job(5, Purpose.COLLECTION, controller, "p", exploration=0.5, **how))
    while not (done := stations.tick()):
        pass
    return done[0]


@pytest.mark.parametrize("kind", ["demonstrations", "random", "chunk", "flow", "replay", "help"])
def test_it_acts_the_same(kind: str) -> None:
    here, there = reach_stations(), reach_stations()
    shown = episode(here, Demonstrations(here.task))
    controller: Controller = {
        "demonstrations": lambda: Demonstrations(here.task),
        "random": lambda: RandomActions(7, hold=3),
        "chunk": lambda: policy().controller(here),
        "flow": lambda: flow().controller(here),
        "replay": lambda: Replay(shown.actions[:2], policy().controller(here)),
        "help": lambda: corrected(here, shown),
    }[kind]()
    carried = unpack(pack(controller), there.task)
    ours, theirs = episode(here, controller), episode(there, carried)
    np.testing.assert_array_equal(ours.actions, theirs.actions)
    np.testing.assert_array_equal(ours.observations, theirs.observations)
    np.testing.assert_array_equal(ours.intervened, theirs.intervened)
    np.testing.assert_array_equal(ours.rewound, theirs.rewound)
    assert ours.intervened.any() == (kind == "help")


def test_a_script_gets_the_stations_own_task() -> None:
    mine, other = Reach(), Reach()
    for controller in (Demonstrations(mine), SkillController(mine, {"speed": 0.5})):
        carried = unpack(pack(controller), other)
        assert vars(carried)["_task"] is other
        with pytest.raises(PolicyError, match="these lack"):
            unpack(pack(controller), None)


OWN = """
from enpire.environment import RandomActions
class Own(RandomActions):
    def begin(self, row, rng, exploration):
        super().begin(row, rng, exploration)
        self.begun = SIZE
SIZE = 7
"""


def test_a_class_of_a_recipes_own_file_comes_along(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(OWN)
    module = import_file("mine@1a2b3c4d", tmp_path / "mine.py")
    version = pack(module.Own(7))
    del sys.modules["mine@1a2b3c4d"]
    carried = unpack(version, None)
    carried.begin(0, np.random.default_rng(0), 0.0)
    assert vars(carried)["begun"] == 7


def test_what_cannot_be_carried_is_said() -> None:
    controller = RandomActions(7)
    vars(controller)["device"] = threading.Lock()
    with pytest.raises(PolicyError, match=r"RandomActions cannot be carried.*lock"):
        pack(controller)


def test_what_cannot_be_loaded_is_said() -> None:
    with pytest.raises(PolicyError, match="cannot be loaded"):
        unpack(PackedController("", b"no pickle"), None)


def test_a_job_is_the_same_with_its_settings() -> None:
    task: Task = Reach()
    controller = Demonstrations(task)
    job = Job(3, Purpose.COLLECTION, controller, "p", 2, 0.5, variant=1, forked=4, staleness=1)
    assert Job(controller=controller, **settings_of(job)) == job


def test_what_was_made_long_ago_is_forgotten() -> None:
    made: list[int] = []

    def make(number: int) -> int:
        made.append(number)
        return -number

    kept = RecentCache[int, int](make)
    assert [kept.get(i, i) for i in (1, 1, 2)] == [-1, -1, -2]
    assert made == [1, 2]
    for number in range(100, 200):
        kept.get(number, number)
    assert kept.get(1, 1) == -1
    assert made.count(1) == 2
