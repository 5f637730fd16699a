"""What leaves the gate is lawful whatever goes in, and what is lawful goes through as it is."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from enpire.packs import find, load_robot
from enpire.safety.gate import SentSetpoint, advance, brake, standstill
from enpire.safety.geometry import Box, Geometry
from enpire.safety.limits import of_robot
from enpire.safety.rules import BRAKES, HOLDS, GateRule
from tests.safety.rig import PERIOD, Anywhere, broken

ROBOT = load_robot(find("robots", "yam"))
LIMITS = of_robot(ROBOT)
HOME = np.array([*ROBOT.arms[0].home, 0.05])


def follow(targets, space=None, limits=LIMITS, start=HOME):
    """Arms that are always where they are sent."""
    space = space or Anywhere()
    motion, log, rules = SentSetpoint.at_rest(start), [(None, start)], GateRule.NONE
    for target in targets:
        step = advance(motion, motion.position, target, limits, space, PERIOD)
        assert step.motion is not None
        rules |= step.rules
        log.append((step.motion.position, motion.position))
        motion = step.motion
    assert broken(log, limits, space, PERIOD) == []
    return motion, rules, log


def test_what_is_lawful_goes_through_as_it_is() -> None:
    times = np.arange(300) * PERIOD
    targets = HOME + 0.05 * (1 - np.cos(2 * times))[:, None] * np.array([1, -1, -1, 1, 1, 1, 0.1])
    _, rules, log = follow(targets)
    assert rules is GateRule.NONE
    assert all(
        np.allclose(sent, target, 0, 1e-12)
        for (sent, _), target in zip(log[1:], targets, strict=True)
    )


@pytest.mark.parametrize("axis", range(7))
def test_a_far_target_is_reached_without_overshoot_within_speed_and_acceleration(axis) -> None:
    limits = replace(LIMITS, jump=np.full(7, np.inf), cartesian_speed=10.0)
    target = HOME.copy()
    target[axis] = LIMITS.low[axis] if axis else 1.0
    motion, rules, log = follow([target] * 500, limits=limits)
    assert abs(motion.position - target).max() < 1e-9
    assert motion.still
    way = [sent[axis] for sent, _ in log[1:]]
    assert min(way) >= min(HOME[axis], target[axis]) - 1e-9
    assert max(way) <= max(HOME[axis], target[axis]) + 1e-9
    assert GateRule.ACCELERATION in rules


def test_a_moving_target_is_caught_up_with() -> None:
    ramp = HOME + np.arange(100)[:, None] * 0.5 * PERIOD * np.eye(7)[0]
    motion, _, log = follow(ramp)
    assert np.allclose(motion.position, ramp[-1])
    assert max(sent[0] - target[0] for (sent, _), target in zip(log[1:], ramp, strict=True)) < 1e-9


@pytest.mark.parametrize(
    ("wanted", "rule"),
    [
        (np.full(7, np.nan), GateRule.FINITE),
        (HOME + np.array([0, np.inf, 0, 0, 0, 0, 0]), GateRule.FINITE),
        (HOME[:6], GateRule.SIZE),
        (np.zeros(0), GateRule.SIZE),
        (HOME + np.array([0.3, 0, 0, 0, 0, 0, 0]), GateRule.JUMP),
    ],
)
def test_what_no_policy_of_good_sense_wants_brakes(wanted, rule) -> None:
    motion = SentSetpoint(HOME, np.array([0.5, 0, 0, 0, 0, 0, 0]), HOME)
    step = advance(motion, HOME, wanted, LIMITS, Anywhere(), PERIOD)
    assert step.rules & BRAKES == rule
    assert step.motion is not None
    assert step.motion.velocity[0] == pytest.approx(0.4)


def test_braking_ends_where_it_was_said_to() -> None:
    velocity = np.array([1.93, -0.7, 0.3, 2.2, -1.1, 0.01, 0.0])
    motion = SentSetpoint(HOME, velocity, HOME)
    end = standstill(HOME, velocity, LIMITS, PERIOD)
    for _ in range(40):
        step = brake(motion, motion.position, LIMITS, Anywhere(), PERIOD)
        assert step.motion is not None
        again = standstill(step.motion.position, step.motion.velocity, LIMITS, PERIOD)
        assert np.allclose(again, end, atol=1e-12)
        motion = step.motion
    assert motion.still
    assert np.allclose(motion.position, end, atol=1e-12)


def test_outside_its_range_a_joint_is_held_at_the_end_of_it() -> None:
    start = HOME.copy()
    start[0] = LIMITS.high[0] - 0.05
    target = start.copy()
    target[0] = LIMITS.high[0] + 0.1
    motion, rules, _ = follow([target] * 100, start=start)
    assert motion.position[0] == pytest.approx(LIMITS.high[0])
    assert motion.target[0] == LIMITS.high[0], "what it is on its way to is within, too"
    assert GateRule.RANGE in rules
    assert not rules & BRAKES


def test_hands_are_no_faster_than_they_may_be() -> None:
    limits = replace(LIMITS, cartesian_speed=0.05)
    geometry = Geometry(ROBOT, limits)
    targets = HOME + np.linspace(0, 1, 200)[:, None] * np.array([0.19, 0, 0, 0, 0, 0, 0])
    _, rules, _ = follow(
        np.concatenate([targets[::4], targets[-1:].repeat(150, 0)]), geometry, limits
    )
    assert rules & GateRule.CARTESIAN_SPEED


def test_arms_that_do_not_follow_leave_nothing_lawful() -> None:
    motion = SentSetpoint.at_rest(HOME)
    elsewhere = HOME + np.array([0.25, 0, 0, 0, 0, 0, 0])
    step = advance(motion, elsewhere, HOME + 0.1 * (elsewhere - HOME), LIMITS, Anywhere(), PERIOD)
    assert step.motion is None
    assert step.rules & HOLDS


def test_a_target_in_a_keep_out_box_stops_short_of_it() -> None:
    wall = Geometry(ROBOT, LIMITS, [Box("wall", (0.2, 0.10, 0.0), (0.5, 0.3, 0.5))])
    motion = SentSetpoint.at_rest(HOME)
    log, rules = [(None, HOME)], GateRule.NONE
    for i in range(200):
        target = motion.position + np.array([0.004, 0, 0, 0, 0, 0, 0]) * min(i / 20, 1)
        step = advance(motion, motion.position, target, LIMITS, wall, PERIOD)
        assert step.motion is not None
        log.append((step.motion.position, motion.position))
        motion, rules = step.motion, rules | step.rules
        if step.rules & BRAKES:
            break
    while not motion.still:
        motion = brake(motion, motion.position, LIMITS, wall, PERIOD).motion or motion
        log.append((motion.position, motion.position))
    assert rules & (GateRule.KEEP_OUT | GateRule.BRAKING_WAY)
    assert broken(log, LIMITS, wall, PERIOD) == []
    assert motion.position[0] > 0.02
