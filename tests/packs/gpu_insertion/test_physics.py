"""The whole task: hands hold the card by friction, force is limited, and nothing else helps."""

from __future__ import annotations

import importlib

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from enpire.environment import Demonstrations, Job, Readings, Stations, build_stations
from enpire.environment.loading import load_task
from enpire.packs import find
from enpire.types import Episode, FloatArray, Outcome, Purpose
from tests.packs.starting import Watching, finish, welds


def run(stations: Stations, seed: int, controller: Demonstrations) -> Episode:
    stations.begin(0, Job(seed, Purpose.DEMONSTRATION, controller, "d"))
    return finish(stations)


def ends(stations: Stations, row: int = 0) -> FloatArray:
    """Where the edge's ends truly are, from the slot's, world axes, (2, 3) [mm]."""
    twin, model = stations.twin, stations.twin.model
    at, slot = model.joint("task_card").qposadr[0], model.site("task_slot").id
    card = twin.qpos[row, at : at + 3]
    turn = Rotation.from_quat(twin.qpos[row, at + 3 : at + 7], scalar_first=True).as_matrix()
    moved = card - twin.site_xpos[row, slot]
    turned = 44.5 * (turn - twin.site_xmat[row, slot].reshape(3, 3))[:, 1]
    return np.array([1e3 * moved + turned, 1e3 * moved - turned])


def test_tags_are_where_frames_has_them() -> None:
    stations = build_stations("gpu_insertion", 1, 1)
    frames = importlib.import_module(f"{type(stations.task).__module__.rpartition('.')[0]}.frames")
    names = stations.task.tracked
    tags = np.array([stations.twin.model.site(name).pos for name in names]).reshape(2, 4, 3)
    np.testing.assert_allclose(tags.mean(axis=1), [frames.CARD_TAGS, frames.SLOT_TAGS], atol=1e-9)
    assert (tags[:, :2, 1] > 0).all()
    assert (tags[:, 2:, 1] < 0).all()
    along = tags[:, :2].sum(axis=1) - tags[:, 2:].sum(axis=1)
    assert not along[:, [0, 2]].any(), "the pairs' line is the connector's"


class Forcing(Demonstrations):
    """Presses straight down with all it has, beside the slot."""

    def act(self, rows: np.ndarray, observations: np.ndarray, readings: Readings) -> np.ndarray:
        return np.full((len(rows), 14), [0, 0, -1, 0, 0, 0, -1] * 2, dtype=np.float32)


class Letting(Demonstrations):
    """Opens both hands above the slot."""

    def act(self, rows: np.ndarray, observations: np.ndarray, readings: Readings) -> np.ndarray:
        return np.full((len(rows), 14), [0, 0, 0, 0, 0, 0, -0.5] * 2, dtype=np.float32)


def test_nothing_holds_the_card_but_hands_while_a_policy_acts() -> None:
    stations = build_stations("gpu_insertion", 1, 1)
    watching = Watching(stations)
    stations.begin(0, Job(0, Purpose.DEMONSTRATION, watching, "d"))
    stations.tick()
    assert welds(stations).tolist() == [1.0], "the reset holds the card with it"
    finish(stations)
    assert len(watching.welded) > 15
    assert not any(watching.welded)
    assert not welds(stations).any()


def test_a_reset_leaves_the_card_in_both_hands_above_the_slot() -> None:
    stations = build_stations("gpu_insertion", 4, 1)
    demonstrations = Demonstrations(stations.task)
    for row in range(4):
        stations.begin(row, Job(row, Purpose.DEMONSTRATION, demonstrations, "d"))
    for _ in range(11):
        stations.tick()
    stations.wait()
    heights = np.array([ends(stations, row)[:, 2] for row in range(4)])
    assert ((heights > 3) & (heights < 30)).all()
    assert np.ptp(heights) > 2, "seeds differ"
    grippers = [arm.gripper for arm in stations.twin.scene.arms]
    opening = stations.twin.actuator_length[:, grippers]
    assert ((opening > 0.0105) & (opening < 0.0120)).all(), "both hands hold 12 mm"


def test_a_demonstration_seats_the_card_and_leaves_it_standing() -> None:
    stations = build_stations("gpu_insertion", 1, 1)
    episode = run(stations, 0, Demonstrations(stations.task))
    stations.wait()
    assert episode.success
    where = ends(stations)
    np.testing.assert_allclose(where[:, 2], -7.5, atol=0.8)
    assert abs(where[:, :2]).max() < 0.8
    grippers = [arm.gripper for arm in stations.twin.scene.arms]
    assert (stations.twin.actuator_length[0, grippers] > 0.045).all()


@pytest.mark.parametrize("seed", [104, 108])
def test_forcing_the_card_down_ends_the_episode(seed: int) -> None:
    """Where it strikes: soft arms at their full lead press with 26 to 28 N, 6 of 48 go beyond."""
    stations = build_stations("gpu_insertion", 1, 1)
    episode = run(stations, seed, Forcing(stations.task))
    assert episode.verdict.outcome is Outcome.FAILURE
    assert episode.verdict.failed == ("force",)


@pytest.mark.parametrize("seed", [0, 1])
def test_a_card_that_was_dropped_is_not_seated_by_hands(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where jaws were not kept shut."""
    monkeypatch.setattr(type(load_task(find("tasks", "gpu_insertion"))), "fixed_action_dims", {})
    stations = build_stations("gpu_insertion", 1, 1)
    episode = run(stations, seed, Letting(stations.task))
    assert episode.verdict.outcome is Outcome.FAILURE
    assert "held" in episode.verdict.failed


def truth(stations: Stations) -> set[str]:
    """Which conditions of success truly hold."""
    return {p.name for p in stations.task.ground_truth(stations.twin, 0) if p.holds}


def test_the_truth_of_a_card_that_stands_and_of_one_that_does_not() -> None:
    stations = build_stations("gpu_insertion", 1, 1)
    run(stations, 0, Demonstrations(stations.task))
    stations.wait()
    twin, at = stations.twin, stations.twin.model.joint("task_card").qposadr[0]
    stood = twin.state[0].copy()
    every = {"gap", "end_gap", "beside", "touch", "stays", "withstands"}
    assert truth(stations) == every
    np.testing.assert_array_equal(twin.state[0], stood)  # it was tried on a copy
    for offset, missed in (
        ((0, 0, 0.0015), {"gap"}),  # it may fall into place in the copy: no word of that
        ((0, 0.004, 0), {"beside"}),
        ((0.02, 0, 0.02), {"gap", "end_gap", "beside", "stays", "withstands"}),
    ):
        twin.state[0] = stood
        twin.qpos[0, at : at + 3] += offset
        twin.forward(0)
        assert missed <= every - truth(stations)


def test_a_card_in_the_hands_above_the_slot_is_not_truly_seated() -> None:
    stations = build_stations("gpu_insertion", 1, 1)
    stations.begin(0, Job(0, Purpose.DEMONSTRATION, Demonstrations(stations.task), "d"))
    for _ in range(11):
        stations.tick()
    stations.wait()
    assert not {"gap", "end_gap", "touch", "stays", "withstands"} & truth(stations)
