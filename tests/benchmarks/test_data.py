"""What both loaders give in the comparison is the same, sample by sample."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from benchmarks.data import batches, bench_data, dataset, held, shapes
from enpire.datasets.exporting import export
from enpire.errors import StoreError
from enpire.improvement.data import seen_examples
from enpire.types import Episode
from tests.store.samples import episode

FPS = 25


def filmed(name: str, length: int, side: int = 16) -> Episode:
    rng = np.random.default_rng(length)
    rows = np.arange(0, length, 3)
    return episode(
        name,
        length,
        observations=rng.standard_normal((length, 5)).astype(np.float32),
        actions=rng.uniform(-1, 1, (length, 3)).astype(np.float32),
        stamps=np.arange(length) / FPS,
        pictures=rng.integers(0, 256, (len(rows), 2, side, side, 3), dtype=np.uint8),
        pictured=rows,
    )


def test_both_give_the_same_samples(tmp_path: Path) -> None:
    episodes = [filmed("a", 20), filmed("b", 11)]
    spec, layout = shapes(episodes[0])
    assert layout.fps == FPS
    export(episodes, replace(layout, video=False), tmp_path / "files", held)
    theirs = dataset(tmp_path / "files", spec, layout.fps)
    data = seen_examples(episodes, spec)
    order = torch.randperm(len(data), generator=torch.Generator().manual_seed(0))
    ((batch, pictures),) = batches(data, order, len(data))
    for at, example in enumerate(order.tolist()):
        sample = theirs[int(data.window[example, -1])]
        np.testing.assert_array_equal(sample["observation.state"], batch.history[at])
        np.testing.assert_array_equal(sample["action"], batch.actions[at])
        for camera, shown in zip(spec.cameras, pictures, strict=True):
            scaled = 2 * sample[f"observation.images.{camera}"] - 1
            np.testing.assert_allclose(scaled, shown[at], atol=1e-6)


def test_a_picture_is_shown_until_the_next_is_taken() -> None:
    one = filmed("a", 7)
    shown = held(one)
    assert len(shown) == 7
    for at in range(7):
        np.testing.assert_array_equal(shown[at], one.pictures[at // 3])


def test_without_pictures_there_is_nothing_to_measure(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="--images 64"):
        bench_data([episode("a", 4)], tmp_path, 128)
