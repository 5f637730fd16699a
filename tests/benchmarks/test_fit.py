"""The bench of fits keeps draws and motions, and counts them kind by kind."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from benchmarks import fit as bench
from benchmarks.fit import Draw
from enpire.errors import StoreError
from enpire.identification.motion import Waves

DRAW = Draw(
    "so101",
    0,
    ("arm/joint1/kp", "arm/joint2/kp", "arm/latency"),
    true=(100.0, 100.0, 0.01),
    values=(101.0, 94.0, 0.01),
    low=(99.0, 95.0, 0.009),
    high=(103.0, 99.0, 0.011),
    shown=(True, True, False),
    held_out=(1e-4, 3e-3),
)


def test_a_draw_and_a_motion_come_back_as_they_were(tmp_path) -> None:
    assert bench.kept(tmp_path, 0) is None
    assert bench.kept_waves(tmp_path) is None
    bench.keep(tmp_path / "a", DRAW)
    assert bench.kept(tmp_path / "a", 0) == DRAW
    waves = Waves(np.ones((2, 5)), np.zeros((2, 5)))
    bench.keep_waves(tmp_path, waves)
    back = bench.kept_waves(tmp_path)
    assert back is not None
    np.testing.assert_array_equal(back.amplitudes, waves.amplitudes)
    (tmp_path / "1.json").write_text("{}")
    with pytest.raises(StoreError, match="holds no draw"):
        bench.kept(tmp_path, 1)


def test_rows_count_by_kind_and_all_together() -> None:
    other = replace(DRAW, number=1, values=(100.0, 100.0, 0.02))
    kp, latency, both = bench.rows([DRAW, other])
    assert (kp.kind, kp.count, kp.close, kp.holds, kp.shown) == ("kp", 4, 3, 2, 4)
    assert (kp.median, kp.worst) == (pytest.approx(0.005), pytest.approx(0.06))
    assert (latency.close, latency.holds, latency.shown) == (1, 2, 0)
    assert (both.kind, both.count) == ("all", 6)
    said = bench.markdown([DRAW, other])
    assert "| so101 | kp | 0.5% / 6.0% | 3 of 4 | 2 of 4 | 0 |" in said
    assert "so101, 2 draws: held-out positions missed by 0.10 mrad" in said
