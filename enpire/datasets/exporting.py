"""A run's episodes as a LeRobot dataset, through LeRobot's own writer.

Parts of some episodes are written one after the other, each whole or not there, and joined at the
end by LeRobot's own tool: an export that was cut short goes on at the part that it was at.
"""

from __future__ import annotations

import hashlib
import logging
import shutil
from collections.abc import Callable, Sequence
from dataclasses import astuple
from itertools import batched
from pathlib import Path

from enpire.datasets.columns import Layout
from enpire.errors import StoreError
from enpire.store.durable import disk_errors
from enpire.types import Episode, Image

PART = 50  # episodes of a part: what an interruption costs at most
BACKEND = "pyav"  # LeRobot's other one needs libraries of FFmpeg that not every machine has
PARTS = ".parts"  # ends the name of the folder beside the dataset that has them meanwhile

Shoot = Callable[[Episode], Image]
"""Pictures of an episode, (periods, cameras, size, size, 3)."""


def export(
    episodes: Sequence[Episode],
    layout: Layout,
    folder: Path,
    shoot: Shoot | None = None,
    say: Callable[[int], None] = lambda done: None,
    part: int = PART,
) -> None:
    """Write `episodes`, in this order, as the dataset `folder`, which appears when it is whole.

    shoot: takes pictures as the layout has them. say: is told how many episodes are written.

    Raises:
        StoreError: the folder is there already, or the disk does not take it.
    """
    if not episodes:
        raise StoreError(f"{folder} would hold no episode: nothing that was asked for is there")
    if folder.exists():
        raise StoreError(f"{folder} is there already: choose a new folder")
    parts = folder.with_name(folder.name + PARTS)
    logging.getLogger("lerobot").setLevel(logging.WARNING)
    with disk_errors(folder):
        parts.mkdir(parents=True, exist_ok=True)
        made, done = [], 0
        for chosen in batched(episodes, part):
            path = parts / _part_name(done, chosen, layout)
            if not path.exists():
                _write(chosen, layout, path, shoot)
            made.append(path)
            done += len(chosen)
            say(done)
        _join(made, folder)
        shutil.rmtree(parts)


def _part_name(first: int, episodes: Sequence[Episode], layout: Layout) -> str:
    """After what is in it, so that a part of another export is never taken for it."""
    of = hashlib.sha256(repr((astuple(layout), [e.id for e in episodes])).encode())
    return f"{first:08d}-{of.hexdigest()[:16]}"


def _write(episodes: Sequence[Episode], layout: Layout, path: Path, shoot: Shoot | None) -> None:
    from lerobot.datasets.lerobot_dataset import LeRobotDataset

    unfinished = path.with_name(f"unfinished-{path.name}")
    shutil.rmtree(unfinished, ignore_errors=True)
    dataset = LeRobotDataset.create(
        path.name,
        layout.fps,
        layout.features(),
        root=unfinished,
        robot_type=layout.robot,
        use_videos=layout.video,
        video_backend=BACKEND,
        streaming_encoding=layout.video,  # no frame of a video lies on the disk by itself
        encoder_queue_maxsize=1 << 16,  # it drops what does not fit: nothing may be dropped
    )
    for episode in episodes:
        for frame in layout.frames(episode, shoot(episode) if shoot else None):
            dataset.add_frame(frame)
        dataset.save_episode(parallel_encoding=False)
    dataset.finalize()
    unfinished.rename(path)


def _join(parts: Sequence[Path], folder: Path) -> None:
    if len(parts) == 1:
        parts[0].rename(folder)
        return
    from lerobot.datasets.aggregate import aggregate_datasets

    unfinished = parts[0].with_name("joined")
    shutil.rmtree(unfinished, ignore_errors=True)
    names = [path.name for path in parts]
    aggregate_datasets(names, folder.name, list(parts), unfinished)
    unfinished.rename(folder)
