"""What cameras showed the verifier, kept in pictures beside the batch of their episode."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import cv2

from enpire.store.durable import disk_errors, make_folder, publish_file
from enpire.store.layout import EVIDENCE, batch_number
from enpire.store.rows import EpisodeRow
from enpire.types import Episode


def write_frames(run: Path, batch: str, episodes: Sequence[Episode]) -> dict[str, str]:
    """Write the pictures of a batch of that number; the sha256 of each file by its name.

    run: the folder of the run.
    """
    folder = run / EVIDENCE
    hashes: dict[str, str] = {}
    for place, episode in enumerate(episodes):
        for frame in episode.verdict.frames:
            with disk_errors(folder):
                make_folder(folder)
            _, png = cv2.imencode(".png", frame.image[..., ::-1])  # OpenCV takes blue first
            data = png.tobytes()
            path = folder / f"{batch}-{place}-{frame.name}.png"
            publish_file(path, data)
            hashes[path.name] = hashlib.sha256(data).hexdigest()
    return hashes


def without_frames(episode: Episode) -> Episode:
    """The episode as a batch has it: what cameras showed the verifier lies beside it."""
    if not episode.verdict.frames:
        return episode
    return replace(episode, verdict=replace(episode.verdict, frames=()))


def frames_of(run: Path, row: EpisodeRow) -> list[Path]:
    """Return the pictures of an episode, by its row in the ledger of the run."""
    return sorted((run / EVIDENCE).glob(f"{batch_number(row.path)}-{row.index}-*.png"))


def frames_of_batch(run: Path, batch: str) -> list[Path]:
    """Return the pictures of all episodes of a batch, by its path in the folder of the run."""
    return sorted((run / EVIDENCE).glob(f"{batch_number(batch)}-*.png"))
