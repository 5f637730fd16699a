"""Faults are told before they are had, and end."""

from __future__ import annotations

import numpy as np
import pytest

from enpire.drivers import Reading
from enpire.drivers.wire import Fault
from enpire.errors import UsageError
from enpire.simulation.faults import KINDS, Channel, Faults, Plan

SECOND = 10**9


def test_a_channel_delays_drops_and_reorders() -> None:
    channel = Channel[int](np.random.default_rng(0))
    channel.put(0, 1)
    assert channel.due(0) == [1]
    channel.delay = 5
    channel.put(10, 2)
    assert channel.due(14) == []
    assert channel.due(15) == [2]
    channel.well()
    channel.spread = 1000
    for k in range(20):
        channel.put(k, k)
    assert sorted(found := channel.due(2000)) == list(range(20))
    assert found != sorted(found)
    channel.well()
    channel.dropped = 0.5
    for k in range(1000):
        channel.put(k, k)
    assert 400 < len(channel.due(2000)) < 600
    channel.frozen = True
    channel.put(0, 1)
    assert channel.due(2000) == []


@pytest.mark.parametrize("kind", KINDS)
def test_each_fault_is_told_first_and_over_in_time(kind) -> None:
    told: list[Fault] = []
    killed: list[int] = []
    faults = Faults(
        Plan.read(f"{kind}:1"), 7, 0, 5, told.append, lambda: killed.append(told[-1].number)
    )
    odd = 0
    reading = Reading(0, np.zeros(6), np.zeros(6), np.zeros(6), np.zeros((1, 3)))
    for k in range(400):
        now = k * SECOND // 20
        faults.tick(now)
        through = 0
        for channel in (faults.readings, faults.objects, faults.commands):
            channel.put(now, reading)
            through += len(channel.due(now))
        odd += through != 3 or bool(faults.lied(reading).position.any())
        if odd:
            assert told
    assert odd or kind == "kill"
    assert [fault.number for fault in told] == list(range(5, 5 + len(told)))
    assert len(told) > 3
    assert killed == ([fault.number for fault in told] if kind == "kill" else [])
    assert {fault.kind for fault in told} == {kind}


def test_what_is_wrong_with_a_plan_is_said() -> None:
    assert Plan.read("").every == {}
    assert Plan.read("all:60").every == dict.fromkeys(KINDS, 60.0)
    with pytest.raises(UsageError, match="did you mean delay"):
        Plan.read("delai:3")
    with pytest.raises(UsageError, match="drop:60"):
        Plan.read("drop")
