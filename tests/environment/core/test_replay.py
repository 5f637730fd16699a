"""A start that is repeated: the same moment to the last bit, and another way on from there."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from enpire.environment import Controller, Job, Replay, Stations, build_stations
from enpire.policies import ChunkPolicy, ChunkSpec, PolicyController
from enpire.types import Episode, Float32Array, Purpose
from tests.environment.reach import Speed, reach_stations


def run(stations: Stations, controller: Controller, **how: object) -> Episode:
    stations.begin(0, Job(5, Purpose.COLLECTION, controller, "p", **how))  # type: ignore[arg-type]
    done: list[Episode] = []
    while not done:
        done = stations.tick()
    return done[0]


class Shown(PolicyController):
    """Keeps all that it was shown."""

    def __init__(self, policy: ChunkPolicy) -> None:
        super().__init__(policy)
        self.shown: list[Float32Array] = []

    def act(self, rows: object, observations: Float32Array, readings: object) -> Float32Array:
        self.shown.extend(observations)
        return super().act(rows, observations, readings)  # type: ignore[arg-type]

    def saw(self, row: int, observations: Float32Array) -> None:
        self.shown.extend(observations)
        super().saw(row, observations)


@pytest.mark.parametrize("forked", [1, 8, 37])
def test_what_is_repeated_is_seen_again_to_the_last_bit(forked: int) -> None:
    stations = build_stations("pick_cube", 1, 1)
    spec = ChunkSpec("pick_cube", stations.observation_size, stations.action_size)
    torch.manual_seed(1)
    policy = ChunkPolicy(spec).eval()
    with torch.no_grad():
        policy.spread.fill_(0.3)
    first = run(stations, PolicyController(policy))
    assert not first.success
    then = Shown(policy)
    how = {"variant": 1, "forked": forked, "exploration": 1.0}
    again = run(stations, Replay(first.actions[:forked], then), **how)
    assert again.observations[:forked].tobytes() == first.observations[:forked].tobytes()
    assert again.actions[:forked].tobytes() == first.actions[:forked].tobytes()
    assert (again.actions[forked : forked + 8] != first.actions[forked : forked + 8]).any()
    shown = np.array(then.shown)
    np.testing.assert_array_equal(shown, again.observations[: len(shown)])
    assert len(shown) > forked, "the policy's memory is of the whole episode"
    twice = run(stations, Replay(first.actions[:forked], PolicyController(policy)), **how)
    assert twice.actions.tobytes() == again.actions.tobytes(), "a variant repeats, too"


def test_then_may_be_anybody() -> None:
    start = np.zeros((3, 7), np.float32)
    start[:, 0] = -0.25
    episode = run(reach_stations(), Replay(start, Speed(0.5)), variant=1, forked=3)
    assert episode.actions[:5, 0].tolist() == [-0.25, -0.25, -0.25, 0.5, 0.5]
