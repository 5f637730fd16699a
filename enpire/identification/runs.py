"""Recordings of a run's episodes: what their arms were sent, and where they were."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np

from enpire.errors import StoreError
from enpire.identification.recording import Recording
from enpire.store import Run
from enpire.types import Episode

SHORTEST = 10  # rows


def recordings(folder: Path) -> tuple[str, list[Recording]]:
    """The robot's name, and a recording of every episode that kept its arms, sealed ones too.

    Raises:
        StoreError: no episode did, as in runs of before they were kept, or of Gymnasium's.
    """
    with Run.open(folder) as run:
        episodes = run.episodes(without=None)
    robots = {_robot(episode) for episode in episodes if episode.setpoints.size}
    if len(robots) != 1:
        raise StoreError(f"no episode of {folder} says what one robot's arms were sent")
    (robot,) = robots
    return robot, list(of_episodes(robot, episodes))


def of_episodes(robot: str, episodes: Iterable[Episode]) -> Iterable[Recording]:
    """Episodes of one attempt, which begin at rest; joints' speeds and efforts were not kept."""
    for episode in episodes:
        if episode.attempts > 1 or len(episode) < SHORTEST or not episode.setpoints.size:
            continue
        nothing = np.full(episode.setpoints.shape, np.nan)
        sent, joints = (np.asarray(a, np.float64) for a in (episode.setpoints, episode.joints))
        now = np.zeros(len(sent))
        yield Recording(robot, episode.id, episode.stamps, sent, joints, nothing, nothing, now)


def _robot(episode: Episode) -> str:
    named = [pack.removeprefix("robots/") for pack in episode.packs if pack.startswith("robots/")]
    return named[0] if named else ""
