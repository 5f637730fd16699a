"""Physical resets of gpu_insertion: the card seated, taken anew, held over the slot."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from enpire.certification.controllers import Nothing
from enpire.certification.examination import Counts, TaskExamination
from enpire.environment import Job, RandomActions, Readings, ResetMode, Stations, build_stations
from enpire.environment.stations.episode_state import StationPhase
from enpire.errors import ResetFailed
from enpire.types import Purpose

pytestmark = pytest.mark.medium


@pytest.fixture(scope="module")
def stations() -> Iterator[Stations]:
    made = build_stations("gpu_insertion", 1, 1)
    yield made
    made.wait()


@pytest.mark.slow  # few of the same in every lane: `physical` in tests/packs/test_every_pack.py
def test_what_policies_leave_is_put_back() -> None:
    def build(count: int, threads: int) -> Stations:
        stations = build_stations("gpu_insertion", count, threads)
        stations.execute_periods = 60
        return stations

    rows = {row.check: row for row in TaskExamination(build, Counts.all(8)).rows(["physical"])}
    assert rows["physical reset"].passed is True, rows["physical reset"].detail
    assert rows["same starts"].passed is True, rows["same starts"].detail


def placed(stations: Stations, drawn: np.ndarray, lean: float = 0.0) -> Readings:
    """What is seen of a start whose card is then leant over by an angle [rad]."""
    task, twin = stations.task, stations.twin
    twin.reset(0)
    task.randomize_physics(twin, 0, drawn)
    task.set_initial_state(twin, stations.control, 0, drawn)
    at = twin.model.joint("task_card").qposadr[0]
    if lean:
        twin.qpos[0, at + 3 : at + 7] = np.cos(lean / 2), 0.0, np.sin(lean / 2), 0.0
    twin.forward(0)
    stations.sensors.begin(0, np.random.default_rng(2))
    return stations.sensors.read(np.array([0]), [0])[0]


@pytest.mark.parametrize(("name", "shift"), [("card_x", 0.006), ("card_rz", 0.08)])
def test_the_look_allows_millimetres(stations: Stations, name: str, shift: float) -> None:
    task = stations.task
    drawn = task.sample(np.random.default_rng(1))
    seen = placed(stations, drawn)
    targets = len(task.target_names)
    here = task.restorer(np.random.default_rng(0), drawn[:targets]).in_place([seen])
    assert all(p.holds for p in here)
    wanted = drawn.copy()
    wanted[task.variation_names.index(name)] += shift
    there = task.restorer(np.random.default_rng(0), wanted[:targets]).in_place([seen])
    assert not all(p.holds for p in there)


def test_a_card_that_lies_is_left_to_a_person(stations: Stations) -> None:
    task = stations.task
    drawn = task.sample(np.random.default_rng(1))
    seen = placed(stations, drawn, lean=1.5)
    skills = task.restorer(np.random.default_rng(0), drawn[: len(task.target_names)])
    with pytest.raises(ResetFailed, match="by hand"):
        skills.clear(seen)


def test_the_slot_stays_while_the_card_may_be_in_it(stations: Stations) -> None:
    task, twin = stations.task, stations.twin
    rng = np.random.default_rng(3)
    here, there = task.sample(rng), task.sample(rng)
    placed(stations, here)
    slot = twin.model.site("task_slot").id
    before = twin.site_xpos[0, slot].copy()
    task.settle(twin, stations.control, 0, 0.3)  # the weld of a fast reset lets go
    task.randomize_physics(twin, 0, there)
    twin.forward(0)
    np.testing.assert_array_equal(twin.site_xpos[0, slot], before)
    task.settle(twin, stations.control, 0, 0.0)
    twin.forward(0)
    np.testing.assert_allclose(twin.site_xpos[0, slot] - before, there[:3] - here[:3], atol=1e-12)


def test_a_policy_does_not_open_the_jaws(stations: Stations) -> None:
    wide = RandomActions(stations.action_size)
    stations.begin(0, Job(1, Purpose.COLLECTION, wide, "wide"))
    while stations.phase(0) is not StationPhase.EXECUTE:
        stations.tick()
    for _ in range(19):
        stations.tick()
    (episode,) = stations.abort("enough")
    assert len(episode) == 20
    np.testing.assert_array_equal(episode.actions[:, [6, 13]], -1.0)
    assert episode.actions[:, 0].std() > 0.1
    assert (stations.control.gripper[0] == 0.0).all()


def test_the_first_that_a_reset_does_is_to_hold_on(stations: Stations) -> None:
    """Whatever the fingers' opening: those that a policy has twisted on the card gape."""
    task = stations.task
    drawn = task.sample(np.random.default_rng(1))
    seen = placed(stations, drawn)
    skills = task.restorer(np.random.default_rng(0), drawn[: len(task.target_names)])
    for _ in range(10):
        action = skills.clear(replace(seen, gripper=np.full((1, 2), 0.018)))
        assert action is not None
        np.testing.assert_array_equal(action[[6, 13]], -1.0)
        assert not np.delete(action, [6, 13]).any()


@pytest.mark.parametrize("arm", [0, 1])
def test_a_hand_that_lost_the_card_takes_it_again(arm: int) -> None:
    """While the other holds it in the air."""
    stations = build_stations("gpu_insertion", 1, 1)  # its own: later resets stay physical
    twin = stations.twin
    stations.begin(0, Job(2, Purpose.COLLECTION, RandomActions(stations.action_size), "p"))
    while stations.phase(0) is not StationPhase.EXECUTE:
        stations.tick()
    stations.abort("enough")
    row, action = np.array([0]), np.zeros((1, stations.action_size), np.float32)
    action[:, [6, 13]] = -1.0
    for opening, up, periods in ((0.0, 0.0, 8), (0.0, 1.0, 18), (-1.0, 0.0, 8)):
        action[0, 7 * arm + 6], action[0, 7 * arm + 2] = opening, up
        for _ in range(periods):
            readings, jacobian = stations.sensors.read(row, [0])
            stations.control.apply(row, action, jacobian, readings.wrist_force)
            twin.step([0], stations.substeps)
    gripper = twin.actuator_length[0, [a.gripper for a in stations.control.arms]]
    assert gripper[arm] < 0.001 < 0.009 < gripper[1 - arm], "one hand holds it"
    stations.reset = ResetMode.PHYSICAL
    stations.begin(0, Job(3, Purpose.COLLECTION, RandomActions(stations.action_size), "p"))
    while stations.phase(0) is StationPhase.RESET and stations.tries(0) == 1:
        stations.tick()
    assert stations.tries(0) == 1
    assert stations.phase(0) is StationPhase.EXECUTE


def test_hands_do_not_drop_what_they_hold_when_a_reset_begins() -> None:
    """Servos that are told to stay where they are sink under the card, which strikes the slot."""
    stations = build_stations("gpu_insertion", 1, 1)  # its own: later resets stay physical
    hands = [arm.grasp for arm in stations.control.arms]
    stations.begin(0, Job(2, Purpose.COLLECTION, Nothing(stations.control), "p"))
    while stations.phase(0) is not StationPhase.EXECUTE:
        stations.tick()
    for _ in range(10):
        stations.tick()
    stations.abort("enough")
    before = stations.twin.site_xpos[0, hands, 2].copy()
    stations.reset = ResetMode.PHYSICAL
    stations.begin(0, Job(3, Purpose.COLLECTION, Nothing(stations.control), "p"))
    for _ in range(4):
        stations.tick()
    assert stations.tries(0) == 1
    assert np.abs(stations.twin.site_xpos[0, hands, 2] - before).max() < 0.0015
