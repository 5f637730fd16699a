"""Drivers without motors do what a driver says it does."""

from __future__ import annotations

import numpy as np
import pytest

from enpire.drivers import build
from enpire.drivers.dry import Dry
from enpire.errors import UsageError
from enpire.packs import find, load_robot

ROBOT = load_robot(find("robots", "yam"))


class Clock:
    def __init__(self) -> None:
        self.now = 10**12

    def __call__(self) -> int:
        return self.now

    def pass_by(self, seconds: float) -> None:
        self.now += round(seconds * 1e9)


@pytest.mark.parametrize("name", ["mock", "simulated"])
def test_arms_go_where_they_are_sent_and_stay_where_they_are_stopped(name) -> None:
    clock = Clock()
    driver = build(name, ROBOT, clock)
    driver.connect()
    start = driver.read()
    assert start.position.shape == start.velocity.shape == start.effort.shape == (7,)
    assert start.force.shape == (1, 3)
    target = start.position + np.array([0.1, 0, 0, 0, 0, 0, -0.01])
    driver.send(target)
    for _ in range(100):
        clock.pass_by(0.01)
        reading = driver.read()
        assert 0 <= clock.now - reading.stamp < 3 * 10**6
    assert np.allclose(reading.position, target, atol=0.01)
    driver.send(start.position)
    clock.pass_by(0.02)
    at = driver.read().position[0]
    driver.stop()
    for _ in range(50):
        clock.pass_by(0.01)
        reading = driver.read()
    assert reading.position[0] == pytest.approx(at, abs=0.02)
    assert abs(reading.velocity).max() < 0.02
    driver.disconnect()


def test_a_dry_run_shows_and_sends_nothing() -> None:
    clock, shown = Clock(), []
    arms = build("mock", ROBOT, clock)
    dry = Dry(arms, clock, shown.append)
    dry.connect()
    start = dry.read().position
    dry.send(start + 0.1)
    clock.pass_by(1.0)
    assert np.allclose(dry.read().position, start + 0.1)
    assert dry.read().stamp == clock.now
    assert len(shown) == 1
    dry.stop()
    dry.disconnect()
    assert (arms.read().position == start).all()


def test_an_unknown_driver_is_told_with_those_there_are() -> None:
    with pytest.raises(UsageError, match="did you mean mock"):
        build("mok", ROBOT, Clock())
