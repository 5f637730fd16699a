"""Cameras of a dataset that were covered, or stood still."""

from __future__ import annotations

import numpy as np
import pytest

from enpire.datasets.camera_columns import shows_nothing
from enpire.types import Image


def film(seed: int, pictures: int = 5) -> Image:
    return np.random.default_rng(seed).integers(0, 256, (pictures, 8, 8, 3)).astype(np.uint8)


def test_pictures_that_change_are_taken() -> None:
    assert shows_nothing([film(0), film(1)]) == ""
    assert shows_nothing([]) == ""
    assert shows_nothing([film(0, 1), film(1, 1)]) == "", "one picture an episode stands still"


@pytest.mark.parametrize("level", [0, 255, 128])
def test_a_covered_camera_shows_nothing(level: int) -> None:
    covered = np.full((5, 8, 8, 3), level, np.uint8)
    covered[2] -= 3 if level else 0  # as a video may have it
    assert "one colour" in shows_nothing([covered, covered])
    assert shows_nothing([covered, film(0)]) == "", "it was uncovered"


def test_a_camera_that_stands_still_shows_nothing() -> None:
    frozen = [film(seed, 1).repeat(5, axis=0) for seed in (0, 1)]
    assert "same picture" in shows_nothing(frozen)
    assert shows_nothing([frozen[0], film(2)]) == "", "it moves in another episode"
