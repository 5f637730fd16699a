"""Demonstrations of another run, or of a dataset that was imported, as a run's own."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from enpire.environment import StationBackend
from enpire.errors import StoreError
from enpire.packs.finder import changed_packs
from enpire.store import Run
from enpire.types import Episode, Purpose, Times

ADOPTED = "adopted-"  # begins the id of an episode that another run has


def adopt(run: Run, source: Path, stations: StationBackend) -> int:
    """Record the demonstrations of the run `source` in `run`, once; returns how many there are.

    They cost this run no robot time. All of them are recorded, or none. Raises as
    `demonstrations`.
    """
    kept = [e for e in run.episodes(Purpose.DEMONSTRATION) if e.id.startswith(ADOPTED)]
    if kept:
        return len(kept)
    shown = demonstrations(source, stations)
    run.add_episodes([replace(e, id=ADOPTED + e.id, times=Times(), round=0) for e in shown])
    return len(shown)


def demonstrations(source: Path, stations: StationBackend) -> list[Episode]:
    """The demonstrations of the run `source`, which these stations could have shown.

    Raises:
        StoreError: it is no run, has none, or they are of other stations.
    """
    with Run.open(source) as opened:
        shown = [e for e in opened.episodes(Purpose.DEMONSTRATION) if len(e)]
    if not shown:
        raise StoreError(f"{source} has no demonstration to begin with")
    for episode in shown:
        _require_alike(episode, source, stations)
    return shown


def _require_alike(episode: Episode, source: Path, stations: StationBackend) -> None:
    has = (episode.observations.shape[1], episode.actions.shape[1])
    needs = (stations.observation_size, stations.action_size)
    changed = changed_packs(episode.packs, stations.packs)
    if episode.task != stations.name or has != needs:
        raise StoreError(
            f"{source} demonstrates {episode.task} ({has[0]} observations, {has[1]} actions a "
            f"row), and this run is of {stations.name} ({needs[0]} and {needs[1]})"
        )
    _require_seen(episode, source, stations)
    if changed:
        raise StoreError(
            f"{', '.join(changed)} changed since {source} was recorded, so its demonstrations show "
            "something else: put the pack back as it was, or record new ones"
        )


def _require_seen(episode: Episode, source: Path, stations: StationBackend) -> None:
    """See whether policies here are shown what the episode has: pictures, or a tracker's word."""
    cameras, taken = stations.policy_cameras, episode.pictures
    size = taken.shape[2]
    if cameras is None and not np.isfinite(episode.observations).all():
        raise StoreError(
            f"{source} has pictures, and not what a tracker says: its demonstrations are for "
            f"policies that see, --images {size or 64}"
        )
    if cameras is None or not len(taken):
        return
    if taken.shape[1:3] != (len(cameras.cameras), cameras.size):
        raise StoreError(
            f"{source} has pictures of {size} px by {taken.shape[1]} cameras, and policies here "
            f"see {cameras.size} px by {len(cameras.cameras)}: --images {size}, or import it anew"
        )
