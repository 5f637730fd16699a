"""The simulated controllers: interpolate, refuse what they do not know, hold when nothing comes."""

from __future__ import annotations

import numpy as np
import pytest

from enpire.drivers.ros2.action import Code
from enpire.drivers.ros2.settings import CommandMode, Ros2Settings
from enpire.packs import find, load_robot
from enpire.simulation.ros2 import SimulatedController
from tests.drivers.goals import PlainGoal, point, request
from tests.simulation.test_cell import cell, passed

MS = 10**6


@pytest.mark.parametrize("command", [c for c in CommandMode if c is not CommandMode.ACTION])
def test_commands_move_the_arm_and_it_holds_when_they_stop(command) -> None:
    one, clock = cell()
    settings = Ros2Settings(command=command)
    robot = load_robot(find("robots", "so101"))
    controller = SimulatedController(one, settings, robot)
    names, start = settings.arm_joints(robot), one.reading().position
    for k in range(50):
        target = start[:5] + 0.004 * (k + 1) * np.eye(5)[0]
        data = {
            CommandMode.TRAJECTORY: (names, target, 0.02),
            CommandMode.POSITION: target,
            CommandMode.VELOCITY: 0.4 * np.eye(5)[0],
        }[command]
        controller.take(clock.now, (str(command), data))
        controller.take(clock.now, ("gripper", np.array([0.3])))
        for _ in range(2):
            controller.tick(clock.now)
            passed(one, clock, 0.005)
    there = one.reading().position
    # The servo is behind by 0.4 rad/s (1.06 / 22.1 s) and its dry friction: some 40 mrad of 200.
    assert there[0] - start[0] == pytest.approx(0.16, abs=0.02)
    for _ in range(200):
        controller.tick(clock.now)
        passed(one, clock, 0.005)
    assert one.reading().position[0] == pytest.approx(there[0], abs=0.06)  # a time-out's way
    assert one.reading().position[5] == pytest.approx(0.3, abs=0.02)


def test_joints_that_it_does_not_have_move_nothing() -> None:
    one, clock = cell()
    robot = load_robot(find("robots", "so101"))
    controller = SimulatedController(one, Ros2Settings(), robot)
    start = one.reading().position
    controller.take(clock.now, ("trajectory", (("elbow",), np.array([1.0]), 0.01)))
    for _ in range(20):
        controller.tick(clock.now)
        passed(one, clock, 0.005)
    assert one.reading().position == pytest.approx(start, abs=0.005)


def test_goals_of_the_action_move_the_arm_and_an_emergency_stop_aborts_them() -> None:
    one, clock = cell()
    settings = Ros2Settings(command=CommandMode.ACTION)
    robot = load_robot(find("robots", "so101"))
    controller = SimulatedController(one, settings, robot)
    names, start = settings.arm_joints(robot), one.reading().position

    def sent(target: float) -> PlainGoal:
        goal = PlainGoal(request(names, point(start[:5] + target * np.eye(5)[0], 0.5)))
        controller.follower.accept(goal)
        controller.take(clock.now, ("goal", goal))
        controller.take(clock.now, ("gripper", np.array([0.3])))
        for _ in range(200):
            controller.tick(clock.now)
            passed(one, clock, 0.005)
        return goal

    reached = sent(0.2)
    assert reached.ended is not None
    assert reached.ended.good
    assert one.reading().position[0] - start[0] == pytest.approx(0.2, abs=0.02)
    assert one.reading().position[5] == pytest.approx(0.3, abs=0.02)
    one.emergency(True)
    aborted = sent(-0.3)
    assert aborted.ended is not None
    assert aborted.ended.code == Code.PATH_TOLERANCE_VIOLATED
    one.emergency(False)
    passed(one, clock, 0.5)
    assert one.reading().position[0] - start[0] == pytest.approx(0.2, abs=0.02)
