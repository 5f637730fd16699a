"""Time to success and successes an hour, with intervals that hold."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

from enpire.observe.throughput import quantile, text, throughput


def test_times_are_of_successes_and_an_hour_has_those_of_failures_too() -> None:
    found = throughput([10.0, 20.0, 30.0, 40.0], [True, True, True, False])
    assert found.successes == 3
    assert (found.median.value, found.slowest.value) == (20.0, 30.0)
    assert found.per_hour.value == pytest.approx(3600 * 3 / 100)
    assert found.per_hour.low < found.per_hour.value < found.per_hour.high


def test_the_interval_of_a_median_lies_between_the_values_of_the_sign_test() -> None:
    """Of 20 values: the 6th and the 15th, by the table of the binomial distribution."""
    found = quantile(np.arange(1.0, 21.0), 0.5)
    assert (found.low, found.high) == (6.0, 15.0)


@pytest.mark.parametrize("share", [0.5, 0.9])
@pytest.mark.parametrize("count", [10, 60, 300])
def test_intervals_of_times_hold_the_true_quantile_often_enough(share: float, count: int) -> None:
    rng = np.random.default_rng(1)
    true = -math.log(1.0 - share)
    holds = 0
    for _ in range(400):
        found = quantile(np.sort(rng.exponential(size=count)), share)
        holds += found.low <= true <= found.high
    assert holds >= 0.95 * 400 - 3 * math.sqrt(400 * 0.95 * 0.05)


@pytest.mark.parametrize(("rate", "count"), [(0.5, 40), (0.95, 100), (1.0, 60), (0.01, 50)])
def test_intervals_of_successes_an_hour_hold_the_true_one(rate: float, count: int) -> None:
    rng = np.random.default_rng(2)
    true = 3600 * rate / (rate * 10.0 + (1 - rate) * 30.0)
    holds = 0
    for _ in range(60):
        good = rng.random(count) < rate
        times = np.where(good, rng.gamma(4.0, 2.5, count), 30.0)
        found = throughput(times.tolist(), good.tolist())
        holds += found.per_hour.low <= true <= found.per_hour.high
    assert holds >= 52


def test_few_episodes_leave_bounds_open() -> None:
    found = throughput([10.0], [True])
    assert (found.median.low, found.median.high) == (0.0, math.inf)
    said = found.as_json()
    assert said["median_s"] == {"value": 10.0, "ci95": [0.0, None]}
    json.dumps(said, allow_nan=False)
    assert "half within 10.0 [0.0, -] s" in text(said)


def test_nothing_is_said_where_nothing_succeeded() -> None:
    none = throughput([], [])
    assert (none.successes, text(none.as_json())) == (0, "")
    failed = throughput([30.0] * 20, [False] * 20)
    assert (failed.per_hour.value, failed.per_hour.low) == (0.0, 0.0)
    assert 0.0 < failed.per_hour.high < 3600 / 30 * 0.2
    assert text(failed.as_json()) == ""


def test_the_same_episodes_have_the_same_interval() -> None:
    times, good = [10.0, 20.0, 30.0], [True, False, True]
    assert throughput(times, good) == throughput(times, good)
