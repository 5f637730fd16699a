"""Setpoints as goals of an action, held against a server that answers when the test says so."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from enpire.drivers.ros2.action import Code, GoalResult, Goals, GoalStatus, follow_joint_trajectory
from enpire.errors import DriverError
from tests.drivers.goals import PlainServices

SECOND = 10**9
ABORTED = GoalResult(GoalStatus.ABORTED, Code.PATH_TOLERANCE_VIOLATED, "joint2 is 0.3 rad off")
REPLACED = GoalResult(GoalStatus.CANCELED, Code.INVALID_GOAL, "Current goal cancelled")
REACHED = GoalResult(GoalStatus.SUCCEEDED, Code.SUCCESSFUL)


class Station:
    def __init__(self) -> None:
        self.now = SECOND
        self.services = PlainServices()
        self.said: list[str] = []
        self.goals = Goals(self.services, lambda: self.now, self.said.append)

    def goal(self, value: float) -> bytes:
        """A goal that is sent and accepted."""
        self.goals.send(np.full(5, value))
        self.goals.tick()
        goal, _, then = self.services.sent[-1]
        then(True)
        return goal

    def stopped(self) -> None:
        self.goals.stop()
        self.services.cancels[-1][1](True)


def test_the_newest_setpoint_becomes_a_goal_once_the_last_one_is_answered() -> None:
    station = Station()
    station.goals.tick()
    assert station.services.sent == []
    for value in (0.1, 0.2):
        station.goals.send(np.full(5, value))
    station.goals.tick()
    station.goals.send(np.full(5, 0.3))
    station.goals.tick()
    assert [position[0] for _, position, _ in station.services.sent] == [0.2]
    station.services.sent[0][2](True)
    station.goals.tick()
    station.services.sent[1][2](True)
    station.goals.tick()
    assert [position[0] for _, position, _ in station.services.sent] == [0.2, 0.3]
    assert len({goal for goal, _, _ in station.services.sent}) == 2


def test_goals_that_are_reached_or_replaced_are_no_faults() -> None:
    station = Station()
    first, second = station.goal(0.1), station.goal(0.2)
    station.services.results[first](REPLACED)
    station.services.results[second](REACHED)
    station.goals.send(np.zeros(5))
    assert station.said == []


@pytest.mark.parametrize(
    ("ended", "newer", "said"),
    [
        (ABORTED, False, "aborted, PATH_TOLERANCE_VIOLATED: joint2 is 0.3 rad off"),
        (ABORTED, True, "PATH_TOLERANCE_VIOLATED"),  # before it was replaced
        (
            GoalResult(GoalStatus.ABORTED, Code.GOAL_TOLERANCE_VIOLATED),
            False,
            "GOAL_TOLERANCE_VIOLATED",
        ),
        (REPLACED, False, "canceled, INVALID_GOAL"),  # by somebody else's
        (GoalResult(GoalStatus.SUCCEEDED, -7), False, "succeeded, -7"),
    ],
)
def test_what_a_controller_ends_otherwise_is_a_fault_until_the_next_stop(
    ended, newer, said
) -> None:
    station = Station()
    goal = station.goal(0.1)
    if newer:
        station.goal(0.2)
    station.services.results[goal](ended)
    for _ in range(2):
        with pytest.raises(DriverError, match=said):
            station.goals.send(np.zeros(5))
    station.goals.tick()
    assert len(station.said) == 1
    station.stopped()
    station.goals.send(np.zeros(5))


def test_a_rejected_goal_is_a_fault() -> None:
    station = Station()
    station.goals.send(np.zeros(5))
    station.goals.tick()
    station.services.sent[0][2](False)
    with pytest.raises(DriverError, match="rejected a goal: is it active"):
        station.goals.send(np.zeros(5))


def test_a_stop_cancels_all_goals_and_those_still_under_way() -> None:
    station = Station()
    held = station.goal(0.1)
    station.goals.send(np.full(5, 0.2))
    station.goals.tick()
    station.goals.send(np.full(5, 0.3))
    station.goals.stop()
    assert [goal for goal, _ in station.services.cancels] == [None]
    under_way, _, then = station.services.sent[-1]
    then(True)
    assert station.services.cancels[-1][0] == under_way
    assert under_way not in station.services.results
    station.services.results[held](GoalResult(GoalStatus.CANCELED, Code.SUCCESSFUL))
    station.goals.send(np.full(5, 0.4))
    station.goals.tick()  # not before they are cancelled: it would be, too
    assert len(station.services.sent) == 2
    station.services.cancels[0][1](True)
    station.goals.tick()
    assert station.services.sent[-1][1][0] == 0.4
    assert station.said == []


def test_an_older_stop_that_is_answered_says_nothing_of_a_newer_one() -> None:
    station = Station()
    station.goals.stop()
    station.goals.stop()
    station.services.cancels[0][1](True)
    station.goals.send(np.zeros(5))
    station.goals.tick()
    assert station.services.sent == []
    station.services.cancels[1][1](False)
    with pytest.raises(DriverError, match="refuses to cancel"):
        station.goals.send(np.zeros(5))


@pytest.mark.parametrize("asked", ["goal", "cancel"])
def test_a_controller_that_does_not_answer_is_a_fault(asked) -> None:
    station = Station()
    station.goal(0.1)
    if asked == "cancel":
        station.goals.stop()
    station.goals.send(np.zeros(5))
    station.goals.tick()
    station.now += SECOND // 10
    station.goals.tick()
    assert station.said == []
    station.now += SECOND
    station.goals.tick()
    with pytest.raises(DriverError, match="has not answered"):
        station.goals.send(np.zeros(5))


def test_without_control_msgs_one_is_told_how_to_come_by_them(monkeypatch) -> None:
    for module in ("control_msgs", "control_msgs.action"):
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(DriverError, match=r"launch/ros2/control_msgs/build\.py"):
        follow_joint_trajectory()
