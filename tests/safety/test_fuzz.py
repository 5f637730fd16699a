"""Setpoints without end, of any kind: none out of limits reaches the driver."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from tests.safety.hostile import ARMS, SETPOINTS, act
from tests.safety.rig import PERIOD, Rig, broken, walled

SLOW_PARTS = 10
LENGTH = 125

kinds = st.lists(st.sampled_from(SETPOINTS * 5 + ARMS), min_size=LENGTH, max_size=LENGTH)


def fuzz(given_kinds, number: int) -> int:
    rng = np.random.default_rng(number)
    with tempfile.TemporaryDirectory() as folder:
        rig = Rig(Path(folder), walled(), records=False)
        for kind in given_kinds:
            act(rig, kind, rng)
        assert broken(rig.arms.sent, rig.limits, rig.space, PERIOD) == []
        return sum(setpoint is not None for setpoint, _ in rig.arms.sent)


QUIET = {
    "deadline": None,
    "database": None,
    "suppress_health_check": list(HealthCheck),
    "phases": (Phase.generate,),  # a failure is told with its seed: to shrink it takes minutes
}


@settings(max_examples=6, derandomize=True, **QUIET)
@given(kinds, st.integers(0, 2**32))
def test_no_setpoint_out_of_limits_reaches_the_driver(given_kinds, number) -> None:
    fuzz(given_kinds, number)


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("part", range(SLOW_PARTS))
def test_nor_of_a_hundred_thousand_in_each_part(part) -> None:
    counted = [0, 0]

    @seed(part)
    @settings(max_examples=100_000 // LENGTH, **QUIET)
    @given(kinds, st.integers(0, 2**32))
    def run(given_kinds, number) -> None:
        counted[1] += fuzz(given_kinds, number)
        counted[0] += len(given_kinds)

    run()
    print(f"part {part}: {counted[0]} periods, {counted[1]} setpoints reached the driver")
    assert counted[0] >= 100_000
    assert counted[1] > 20_000


def test_the_judge_sees_what_is_unlawful(tmp_path) -> None:
    rig = Rig(tmp_path, walled(), records=False)
    home, axis = rig.arms.home, np.eye(7)[0]
    judged = {
        "speed": [home, home + 0.05 * axis],
        "acceleration": [home, home + 0.002 * axis],
        "jump": [home + 0.3 * axis],
        "range": [home - 9 * axis],
        "no numbers": [home * np.nan],
        "keep out": [home + 0.35 * axis],
        "cartesian speed": [home, home + 0.05 * axis],
    }
    for what, setpoints in judged.items():
        sent = [(None, home), *((setpoint, home) for setpoint in setpoints)]
        assert what in str(broken(sent, rig.limits, rig.space, PERIOD)), what
