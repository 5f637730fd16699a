"""Samples a second with pictures, from the disk to the trainer: ours beside LeRobot's loader.

The same episodes, kept as ours and exported as LeRobot's dataset, once with videos and once with a
file for each picture. Both sides give batches of the same samples in the same random order: what
was observed lately, the pictures as floats, a chunk of actions. They take turns, so that what else
the machine does meets both alike. Opening is counted apart; files may be in the system's cache.
"""

from __future__ import annotations

import statistics
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import DataLoader, Subset

from benchmarks.turns import TurnRatio
from enpire.datasets.columns import ACTION, STATE, Layout
from enpire.datasets.exporting import BACKEND, export
from enpire.environment import PolicyCameras
from enpire.errors import StoreError
from enpire.improvement.data import ExampleBatch, Examples, seen_examples
from enpire.policies import PictureSpec
from enpire.policies.picture import encoder_input
from enpire.store.archive import SUFFIX
from enpire.store.episodes import iterate, write_batch
from enpire.types import Episode, Image

if TYPE_CHECKING:
    from lerobot.datasets.lerobot_dataset import LeRobotDataset

BATCH = 64
BLOCKS = 3  # turns of each side
WORKERS = (0, 1, 2)  # processes of LeRobot's loader; the fastest counts

SECONDS = 1.0  # of a turn at least, in whole epochs

Epoch = Callable[[], Iterator[object]]
"""Gives the batches of an epoch."""


@dataclass(frozen=True, slots=True)
class DataBench:
    """What was measured. Rates are medians over blocks [samples/s].

    ratio: of ours to the fastest of LeRobot's. lerobot: each way to load, by name. open_s,
    lerobot_open_s: from the files to the first batch, by one process. ours holds all pictures in
    memory.
    """

    ratio: TurnRatio
    ours: float
    lerobot: dict[str, float]
    open_s: float
    lerobot_open_s: dict[str, float]
    episodes: int
    samples: int
    pictures: tuple[int, ...]
    batch: int

    def as_json(self) -> dict[str, Any]:
        """As plain values."""
        return asdict(self)


def bench_data(
    episodes: Sequence[Episode], folder: Path, samples: int, seed: int = 0, batch: int = BATCH
) -> DataBench:
    """Measure with `samples` a block, or all that there are.

    episodes: with pictures. folder: an empty one, for both sides' files.

    Raises:
        StoreError: no episode has pictures, or too few for two batches.
    """
    filmed = [episode for episode in episodes if len(episode.pictures)]
    if not filmed:
        raise StoreError("no episode has pictures: record a run with --images 64")
    spec, layout = shapes(filmed[0])
    (folder / "ours").mkdir()
    for number, episode in enumerate(filmed):
        write_batch(folder / "ours" / f"{number:08d}{SUFFIX}", [episode])
    began = time.perf_counter()
    data = seen_examples(list(iterate(folder / "ours")), spec)
    order = torch.from_numpy(np.random.default_rng(seed).permutation(len(data))[:samples])
    order = order[: len(order) // batch * batch]
    if len(order) < 2 * batch:
        raise StoreError(f"{len(data)} samples are too few for two batches of {batch}")
    next(batches(data, order, batch))
    open_s = time.perf_counter() - began

    epochs: dict[str, Epoch] = {}
    opened: dict[str, float] = {}
    rows = data.window[order, -1].tolist()  # both sides have all periods end to end
    for kept, video in (("videos", True), ("files", False)):
        export(filmed, replace(layout, video=video), folder / kept, held)
        began = time.perf_counter()
        theirs = Subset(dataset(folder / kept, spec, layout.fps), rows)
        next(iter(DataLoader(theirs, batch)))
        opened[kept] = time.perf_counter() - began
        for workers in WORKERS:
            loader = DataLoader(theirs, batch, num_workers=workers, persistent_workers=workers > 0)
            epochs[f"{kept}, {workers} workers"] = partial(iter, loader)

    ours: list[float] = []
    rates: dict[str, list[float]] = {name: [] for name in epochs}
    for epoch in epochs.values():
        deque(epoch(), maxlen=0)  # its processes run from here on
    for _ in range(BLOCKS):
        ours.append(_rate(partial(batches, data, order, batch), batch))
        for name, epoch in epochs.items():
            rates[name].append(_rate(epoch, batch))
    fastest = [max(block) for block in zip(*rates.values(), strict=True)]
    return DataBench(
        ratio=TurnRatio.of(ours, fastest),
        ours=statistics.median(ours),
        lerobot={name: statistics.median(each) for name, each in rates.items()},
        open_s=open_s,
        lerobot_open_s=opened,
        episodes=len(filmed),
        samples=len(order),
        pictures=filmed[0].pictures.shape[1:],
        batch=batch,
    )


def shapes(episode: Episode) -> tuple[PictureSpec, Layout]:
    """Of a policy that sees what was recorded in `episode`, and of a dataset with the same."""
    sizes = episode.observations.shape[1], episode.actions.shape[1]
    number, size = episode.pictures.shape[1:3]
    policy_cameras = PolicyCameras(
        tuple(f"camera_{i}" for i in range(number)), size, tuple(range(sizes[0]))
    )
    spec = PictureSpec(
        episode.task, *sizes, cameras=policy_cameras.cameras, size=size, felt=policy_cameras.felt
    )
    seen, done = (
        tuple(f"{what}_{i}" for i in range(n)) for what, n in zip("oa", sizes, strict=True)
    )
    fps = round(1.0 / (episode.stamps[1] - episode.stamps[0]))
    return spec, Layout(fps, episode.task, "", seen, done, policy_cameras)


def held(episode: Episode) -> Image:
    """For every period the newest pictures taken until then, (periods, cameras, size, size, 3)."""
    newest = np.searchsorted(episode.pictured, np.arange(len(episode)), side="right") - 1
    pictures: Image = episode.pictures[newest.clip(min=0)]
    return pictures


def dataset(folder: Path, spec: PictureSpec, fps: int) -> LeRobotDataset:
    """An exported one whose samples are what a policy of `spec` learns from."""
    from lerobot.datasets.lerobot_dataset import LeRobotDataset

    back = range(-spec.reach, 1, spec.stride)
    moments = {STATE: [at / fps for at in back], ACTION: [at / fps for at in range(spec.chunk)]}
    return LeRobotDataset(folder.name, root=folder, delta_timestamps=moments, video_backend=BACKEND)


def batches(
    data: Examples, order: Tensor, size: int
) -> Iterator[tuple[ExampleBatch, list[Tensor]]]:
    """Examples as a gradient step takes them, and each camera's pictures as an encoder does."""
    for index in torch.split(order, size):
        batch = data.batch(index)
        if batch.pictures is None:
            raise StoreError("these examples have no pictures")
        yield batch, [encoder_input(each) for each in batch.pictures.unbind(1)]


def _rate(epoch: Epoch, size: int) -> float:
    """Samples a second, in whole epochs."""
    count, began = 0, time.perf_counter()
    while (seconds := time.perf_counter() - began) < SECONDS:
        count += sum(1 for _ in epoch())
    return count * size / seconds
