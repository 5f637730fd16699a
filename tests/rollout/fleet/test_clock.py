"""The clock on the wall, and a twin's."""

from __future__ import annotations

import time

from enpire.rollout.fleet.clock import SimulatedClock, WallClock


def test_a_twins_clock_passes_with_its_periods() -> None:
    clock = SimulatedClock(5.0)
    clock.tick(0.02)
    clock.wait(0.001)
    assert clock.now == 5.02


def test_the_wall_holds_up_whoever_is_early() -> None:
    before = time.monotonic()
    clock, began = WallClock(100.0), time.monotonic()
    for _ in range(5):
        clock.tick(0.02)
    assert time.monotonic() - before >= 0.1
    ended = time.monotonic()
    now = clock.now - 100.0
    assert ended - began <= now <= time.monotonic() - before, "it is the one on the wall"


def test_who_is_late_does_not_catch_up() -> None:
    clock = WallClock()
    time.sleep(0.1)
    began = time.monotonic()
    for _ in range(3):
        clock.tick(0.02)
    assert time.monotonic() - began >= 0.04
