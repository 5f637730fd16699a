"""A simulated controller by its action: goals follow one another, end, and hold what they held."""

from __future__ import annotations

import numpy as np
import pytest

from enpire.drivers.ros2.action import Code, GoalStatus
from enpire.simulation.trajectory_follower import TrajectoryFollower
from tests.drivers.goals import PlainGoal, point, request

MS = 10**6
NAMES = ("a", "b")


def begun(follower: TrajectoryFollower, now: int, what, measured=(0.0, 0.0)) -> PlainGoal:
    goal = PlainGoal(what)
    follower.accept(goal)
    follower.begin(now, goal, np.array(measured))
    return goal


def outcome(goal: PlainGoal) -> tuple[int, int]:
    assert goal.ended is not None
    return goal.ended.status, goal.ended.code


def test_it_goes_straight_from_point_to_point_and_says_so_at_the_end() -> None:
    follower = TrajectoryFollower(NAMES)
    what = request(("b", "a"), point((0.1, 0.2), 0.1), point((0.1, 0.0), 0.2))
    goal = begun(follower, 0, what)
    measured = np.zeros(2)
    seen = {}
    for now in range(0, 205 * MS, 5 * MS):
        measured = follower.tick(now, measured)
        seen[now // MS] = measured
    assert seen[50] == pytest.approx([0.1, 0.05])
    assert seen[100] == pytest.approx([0.2, 0.1])
    assert seen[150] == pytest.approx([0.1, 0.1])
    assert outcome(goal) == (GoalStatus.SUCCEEDED, Code.SUCCESSFUL)
    assert 3 <= len(goal.told) <= 6  # twenty times a second
    assert follower.tick(300 * MS, measured) is None  # servos hold what they were sent last


def test_a_newer_goal_goes_on_from_where_the_last_one_was_and_ends_it() -> None:
    follower = TrajectoryFollower(NAMES)
    first = begun(follower, 0, request(NAMES, point((0.1, 0.0), 0.1)))
    at = follower.tick(50 * MS, np.array([0.02, 0.0]))
    second = begun(follower, 50 * MS, request(NAMES, point((0.15, 0.0), 0.1)), (0.02, 0.0))
    assert outcome(first) == (GoalStatus.ABORTED, Code.INVALID_GOAL)
    assert follower.tick(50 * MS, at) == pytest.approx(at)
    assert follower.tick(100 * MS, at) == pytest.approx([0.1, 0.0])
    assert second.ended is None


def test_joints_that_leave_their_tolerance_abort_a_goal_and_hold() -> None:
    follower = TrajectoryFollower(NAMES)
    goal = begun(follower, 0, request(NAMES, point((0.1, 1.0), 1.0), path={"a": -1.0}))
    stuck = np.zeros(2)
    assert follower.tick(150 * MS, stuck) is not None
    assert follower.tick(250 * MS, stuck) == pytest.approx(stuck)
    assert outcome(goal) == (GoalStatus.ABORTED, Code.PATH_TOLERANCE_VIOLATED)
    assert goal.ended.text == "b is 0.250 rad off, 0.200 allowed"
    assert follower.tick(255 * MS, stuck) is None
    narrow = begun(follower, 0, request(NAMES, point((0.1, 0.1), 0.1), path={"a": 0.01}))
    follower.tick(50 * MS, stuck)
    assert outcome(narrow) == (GoalStatus.ABORTED, Code.PATH_TOLERANCE_VIOLATED)


def test_a_goal_that_is_not_reached_in_time_is_aborted() -> None:
    follower = TrajectoryFollower(NAMES)
    goal = begun(follower, 0, request(NAMES, point((0.1, 0.1), 0.1), goal={"a": 0.02}))
    stuck = np.zeros(2)
    follower.tick(190 * MS, stuck)
    assert goal.ended is None
    follower.tick(205 * MS, stuck)
    assert outcome(goal) == (GoalStatus.ABORTED, Code.GOAL_TOLERANCE_VIOLATED)


def test_a_cancelled_goal_ends_and_the_arms_hold_where_they_are() -> None:
    follower = TrajectoryFollower(NAMES)
    goal = begun(follower, 0, request(NAMES, point((0.1, 0.1), 0.1)))
    follower.tick(50 * MS, np.full(2, 0.04))
    goal.cancelled = True
    assert follower.tick(55 * MS, np.full(2, 0.04)) == pytest.approx([0.04, 0.04])
    assert outcome(goal)[0] == GoalStatus.CANCELED
    assert follower.tick(60 * MS, np.full(2, 0.04)) is None


def test_goals_that_are_lost_or_late_on_their_way_end_with_a_newer_one() -> None:
    follower = TrajectoryFollower(NAMES)
    lost, newest, still_to_come = (
        PlainGoal(request(NAMES, point((value, 0.0), 0.1))) for value in (0.1, 0.2, 0.3)
    )
    for goal in (lost, newest, still_to_come):
        follower.accept(goal)
    follower.begin(0, newest, np.zeros(2))
    assert outcome(lost) == (GoalStatus.ABORTED, Code.INVALID_GOAL)
    assert still_to_come.ended is None
    follower.begin(5 * MS, lost, np.zeros(2))  # out of order
    assert follower.tick(100 * MS, np.array([0.2, 0.0])) == pytest.approx([0.2, 0.0])


@pytest.mark.parametrize(
    ("what", "said"),
    [
        (request(("a",), point((0.1,), 0.1)), "joints are a, b, not a"),
        (request(NAMES), "at least one point"),
        (request(NAMES, point((0.1, 0.1), 0.2), point((0.1, 0.1), 0.1)), "do not increase"),
        (request(NAMES, point((0.1, np.nan), 0.1)), "finite positions"),
        (request(NAMES, point((0.1,), 0.1)), "finite positions"),
        (request(NAMES, point((0.1, 0.1), 0.1, (0.0, 0.2))), "not at rest"),
    ],
)
def test_goals_that_it_cannot_carry_out_are_refused(what, said) -> None:
    assert said in TrajectoryFollower(NAMES).refusal(what)
    assert (
        TrajectoryFollower(NAMES).refusal(request(NAMES, point((0.1, 0.1), 0.1, (0.0, 0.0)))) == ""
    )
