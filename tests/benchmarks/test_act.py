"""Both ways to an answer come to the same answer, and an answer hangs on no other row."""

from __future__ import annotations

import math

import numpy as np
import pytest

from benchmarks.act import ROWS, answer, bench_act

pytestmark = pytest.mark.medium


@pytest.mark.parametrize("kind", ["chunk", "flow"])
@pytest.mark.parametrize("rows", ROWS)
def test_both_ways_come_to_the_same_answer(kind: str, rows: int) -> None:
    asked = answer(kind, rows)
    ours = asked.ours()
    assert len(ours) == rows
    np.testing.assert_allclose(ours, asked.bare().numpy(), rtol=1e-3, atol=1e-4)
    assert len(asked.period()) == rows


def test_every_answer_is_told() -> None:
    measured = bench_act(calls=1, blocks=2)
    works = [each.work for each in measured.compared]
    assert works == [f"{kind}, {rows} rows" for kind in ("chunk", "flow") for rows in ROWS]
    assert list(measured.period_s) == works
    for each in measured.compared:
        (ratio,) = each.leaner.values()
        assert 0 < ratio.least <= ratio.median <= ratio.largest < math.inf
