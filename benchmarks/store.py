"""The store's speed: beside a plain copy of the same bytes, and beside a LeRobotDataset v3.

*Writing* begins with episodes in memory and ends with a closed run, a finalized dataset, or a copy.
Ours and the copy are on the disk when they end: the copy makes each batch's file durable, and adds
the ledger's bytes to a file of its own, with as many fsyncs. LeRobot's writer asks for none.

*Reading* begins with closed files, and ends when every period of every episode was given once, in
one random order, in batches of tensors. Ours checks the hash of whatever it reads. `files` only
reads the bytes of the batches. All files are in the system's cache. Sides take turns, and the ones
that write begin with an empty folder each time.
"""

from __future__ import annotations

import itertools
import logging
import os
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import batched
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import DataLoader

from benchmarks.turns import OURS, Comparison, Side, compare
from enpire.datasets.columns import ACTION, STATE
from enpire.datasets.exporting import BACKEND
from enpire.datasets.synthetic import FPS, random_episode
from enpire.improvement.data import examples
from enpire.policies import ChunkSpec
from enpire.store import Run
from enpire.store.durable import publish_file
from enpire.store.layout import EPISODES, LEDGER
from enpire.types import Episode, Image

BATCH = 8  # episodes, as `EpisodeWriter` gathers them
SAMPLES = 64  # periods in a batch that is read
PERIODS, OBSERVATION, ACTIONS = 150, 40, 7  # as of `pin_box`, about
CAMERAS, LOOK = 2, 4  # pictures are taken in every so many periods
REWARD = "next.reward"
TOLD = "measured"


@dataclass(frozen=True, slots=True)
class StoreBench:
    """What was measured. bytes: of the run's batches; pictures: size of one [px], 0 for none."""

    compared: tuple[Comparison, ...]
    episodes: int
    periods: int
    bytes: int
    pictures: int
    blocks: int

    def as_json(self) -> dict[str, Any]:
        """As plain values."""
        return asdict(self)


def bench_store(
    folder: Path,
    episodes: int = 32,
    blocks: int = 5,
    size: int = 0,
    seed: int = 0,
    lerobot: bool = True,
) -> StoreBench:
    """Measure in the empty `folder`.

    Args:
        folder: on the disk that is to be measured.
        episodes: how many are written and read.
        blocks: turns of each side.
        size: of pictures [px]; with any, LeRobot is left out, for it makes other files of them.
        lerobot: False leaves it out anyway, for it takes two hundred times as long.
        seed: of what is written, and of the order in which it is read.
    """
    lerobot = lerobot and not size
    if lerobot:
        _quiet()
    made = made_up(episodes, size, seed)
    numbers = itertools.count()

    def new() -> Path:
        return folder / f"{next(numbers)}"

    run, dataset = folder / "run", folder / "set"
    write_run(run, made)
    writing: dict[str, Side] = {
        OURS: lambda: write_run(new(), made),
        "copy": lambda: copy_run(run, new()),
    }
    if lerobot:
        write_dataset(dataset, made)
        writing["LeRobot"] = lambda: write_dataset(new(), made)
    order = torch.randperm(sum(map(len, made)), generator=torch.Generator().manual_seed(seed))
    reading: dict[str, Side] = {
        OURS: lambda: _drain(read_run(run, order)),
        "files": lambda: _drain(p.read_bytes() for p in (run / EPISODES).iterdir()),
    }
    if lerobot:
        reading["LeRobot"] = lambda: _drain(read_dataset(dataset, order))
    compared = compare("write", writing, blocks), compare("read back shuffled", reading, blocks)
    return StoreBench(
        compared=compared,
        episodes=episodes,
        periods=len(order),
        bytes=sum(path.stat().st_size for path in (run / EPISODES).iterdir()),
        pictures=size,
        blocks=blocks,
    )


def _quiet() -> None:
    import datasets

    logging.getLogger("lerobot").setLevel(logging.WARNING)
    datasets.disable_progress_bars()


def _drain(some: Iterator[object]) -> None:
    for _ in some:
        pass


def made_up(count: int, size: int = 0, seed: int = 0) -> list[Episode]:
    """Successes that never were; size: of pictures [px], 0 for none."""
    rng = np.random.default_rng(seed)
    return [
        replace(
            random_episode(rng, number, TOLD, PERIODS, (OBSERVATION, ACTIONS)),
            **(_pictured(rng, size) if size else {}),
        )
        for number in range(count)
    ]


def _pictured(rng: np.random.Generator, size: int) -> dict[str, Any]:
    rows = np.arange(0, PERIODS, LOOK)
    shape = len(rows), CAMERAS, size, size, 3
    pictures: Image = rng.integers(0, 256, shape, np.uint8)
    return {"pictures": pictures, "pictured": rows}


def write_run(folder: Path, episodes: Sequence[Episode]) -> None:
    """Record them in a new run, and close it."""
    with Run.create(folder, {"bench": {"subject": "store"}}) as run:
        for some in batched(episodes, BATCH):
            run.add_episodes(some)


def copy_run(run: Path, folder: Path) -> None:
    """Copy the bytes of a run, as durably as they were written."""
    (folder / EPISODES).mkdir(parents=True)
    batches = sorted((run / EPISODES).iterdir())
    ledger = (run / LEDGER).read_bytes()
    part = -(-len(ledger) // len(batches))
    for number, path in enumerate(batches):
        publish_file(folder / EPISODES / path.name, path.read_bytes())
        with (folder / LEDGER).open("ab") as file:
            file.write(ledger[number * part : (number + 1) * part])
            file.flush()
            os.fsync(file.fileno())


def write_dataset(folder: Path, episodes: Sequence[Episode]) -> None:
    """Write them as a LeRobotDataset v3, by LeRobot's own writer."""
    from lerobot.datasets.lerobot_dataset import LeRobotDataset

    features = {
        name: {"dtype": "float32", "shape": (width,), "names": None}
        for name, width in ((STATE, OBSERVATION), (ACTION, ACTIONS), (REWARD, 1))
    }
    dataset = LeRobotDataset.create(
        folder.name, FPS, features, root=folder, use_videos=False, video_backend=BACKEND
    )
    for episode in episodes:
        for at in range(len(episode)):
            dataset.add_frame(
                {
                    STATE: episode.observations[at],
                    ACTION: episode.actions[at],
                    REWARD: episode.rewards[at : at + 1],
                    "task": TOLD,
                }
            )
        dataset.save_episode()
    dataset.finalize()


def read_run(folder: Path, order: Tensor) -> Iterator[tuple[Tensor, Tensor]]:
    """Observations and actions of all periods in this order, a batch after the other."""
    spec = ChunkSpec(TOLD, OBSERVATION, ACTIONS, history=1, chunk=1, execute=1)
    with Run.open(folder) as run:
        data = examples(run.episodes(), spec)
    for index in torch.split(order, SAMPLES):
        batch = data.batch(index)
        yield batch.history[:, 0], batch.actions[:, 0]


def read_dataset(folder: Path, order: Tensor) -> Iterator[tuple[Tensor, Tensor]]:
    """The same of a LeRobotDataset, through the loader that LeRobot trains by."""
    from lerobot.datasets.lerobot_dataset import LeRobotDataset

    dataset: Any = LeRobotDataset(folder.name, root=folder, video_backend=BACKEND)
    for batch in DataLoader(dataset, SAMPLES, sampler=order.tolist()):
        yield batch[STATE], batch[ACTION]
