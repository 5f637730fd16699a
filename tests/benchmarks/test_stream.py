"""What a process that writes its setpoints itself writes when."""

from __future__ import annotations

import numpy as np

from benchmarks.stream import Chunk


def test_a_chunk_is_straight_between_its_setpoints_and_stands_at_its_ends() -> None:
    chunk = Chunk(10**9, 0.1, np.array([[0.0], [1.0], [3.0]]))
    at = [0, 10**9, 1_050_000_000, 1_150_000_000, 1_200_000_000, 10**10]
    assert [round(float(chunk.at(t)[0]), 9) for t in at] == [0, 0, 0.5, 2, 3, 3]
    assert Chunk(0, 1.0, np.array([[5.0]])).at(99)[0] == 5.0
