"""Joint actions: what is recorded of whoever moves hands, that it repeats, and what it may not."""

from __future__ import annotations

import numpy as np
import pytest

from enpire.environment import (
    Controller,
    Demonstrations,
    InterventionWrapper,
    Job,
    JointActions,
    Replay,
    Stations,
    build_stations,
)
from enpire.environment.core.symmetry import symmetry_of
from enpire.errors import PolicyError
from enpire.observe import policy_loading
from enpire.policies import ChunkPolicy, ChunkSpec
from enpire.twin.twin import Rows
from enpire.types import Episode, Float32Array, FloatArray, Purpose
from tests.environment.core.test_intervention import At
from tests.environment.reach import Reach, by_joints, reach_stations

ALIKE = 1e-5  # of setpoints: an action is of single precision [rad]


class Stays:
    """Sends the arm to one posture."""

    def __init__(self, action: Float32Array) -> None:
        self._action = action

    def begin(self, row: int, rng: np.random.Generator, exploration: float) -> None:
        pass

    def act(self, rows: Rows, observations: Float32Array, readings: object) -> Float32Array:
        return np.repeat(self._action[None], len(rows), axis=0)


def run(
    stations: Stations, controller: Controller, seed: int = 3, overtime: float = 0.0
) -> Episode:
    stations.begin(0, Job(seed, Purpose.DEMONSTRATION, controller, "d", overtime=overtime))
    done: list[Episode] = []
    while not done:
        done = stations.tick(4)
    return done[0]


def wanted(stations: Stations, episode: Episode) -> FloatArray:
    """The setpoints (T, axes) that the actions of an episode are."""
    low, high = (end.ravel() for end in stations.control.ends)
    found: FloatArray = low + (high - low) * (0.5 + 0.5 * episode.actions.astype(np.float64))
    return found


def test_joints_come_first_in_what_is_seen_and_are_all_of_an_action() -> None:
    stations = reach_stations(task=by_joints())
    names = (*(f"joint{i}.pos" for i in range(1, 6)), "gripper.pos")
    assert stations.task.observation_names == (*names, *Reach.observation_names)
    assert (stations.action_size, stations.observation_size) == (6, 8)
    episode = run(stations, stations.starter[1])
    np.testing.assert_array_equal(episode.observations[:, :6], episode.joints)
    assert symmetry_of(stations) is None
    two = JointActions(2, 6)
    assert two.grippers == (6, 13)
    assert two.names(["left", "right"])[7] == "right_joint1.pos"
    assert two.fixed_dims({6: -1.0, 13: 1.0, 2: 0.0}) == {6: -1.0, 13: 1.0}


def test_the_setpoints_of_a_demonstration_are_its_actions() -> None:
    hands, joints = reach_stations(), reach_stations(task=by_joints())
    one, other = (run(each, each.starter[1]) for each in (hands, joints))
    assert one.success
    assert other.success
    assert len(one) == len(other)
    np.testing.assert_allclose(one.setpoints, other.setpoints, atol=ALIKE)
    np.testing.assert_allclose(wanted(joints, other), other.setpoints, atol=ALIKE)


def test_replayed_joint_actions_repeat_a_demonstration_to_the_last_bit() -> None:
    """In one plan, which compiled code carries out, and asked for in each period alike."""
    stations = reach_stations(task=by_joints())
    shown = run(stations, stations.starter[1])
    again = run(stations, Replay(shown.actions, Stays(np.zeros(6, np.float32))))
    assert again.success
    for name in ("observations", "actions", "joints", "setpoints"):
        assert getattr(again, name).tobytes() == getattr(shown, name).tobytes()


def test_demonstrations_of_a_pack_repeat_as_joint_actions() -> None:
    stations = build_stations("pick_cube@joints", 1, 1)
    for seed in range(3):
        shown = run(stations, stations.starter[1], seed)
        again = run(stations, Replay(shown.actions, Stays(np.zeros(6, np.float32))), seed)
        assert shown.success
        assert again.success
        assert again.observations.tobytes() == shown.observations.tobytes()


def test_who_helps_moves_hands_where_the_policy_sets_joints() -> None:
    stations = reach_stations(task=by_joints())
    shown = run(stations, stations.starter[1])
    astray = shown.actions[0].copy()
    astray[0] -= 0.1  # of the base's range: away to the side
    alone = run(stations, Stays(astray))
    assert not alone.success
    expert = Demonstrations(stations.task)
    policy, watch = Stays(astray), At(3, back=0)
    corrected = InterventionWrapper(policy, expert, watch, stations.task.actions)
    episode = run(stations, corrected, overtime=1.0)
    assert episode.success
    assert episode.helped
    assert episode.rewound.any()
    at = episode.intervened
    np.testing.assert_allclose(wanted(stations, episode)[at], episode.setpoints[at], atol=ALIKE)
    policy_alone = alone.actions[:3]
    assert episode.actions[:3].tobytes() == policy_alone.tobytes()


@pytest.mark.parametrize("sets", [True, False])
def test_a_policy_of_other_actions_is_refused(sets: bool) -> None:
    here = reach_stations(task=Reach() if sets else by_joints())
    other = reach_stations(task=by_joints() if sets else Reach())
    spec = ChunkSpec(other.name, here.observation_size, here.action_size, hidden=(8,))
    with pytest.raises(PolicyError, match=f"made for {other.name}.*give --task {other.name}"):
        policy_loading.require_fit(ChunkPolicy(spec), here, "p")
