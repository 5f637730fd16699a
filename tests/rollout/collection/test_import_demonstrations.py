"""Demonstrations of another run: adopted once, alike, and of the same stations only."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from enpire.environment import PolicyCameras, StationBackend
from enpire.errors import StoreError
from enpire.rollout.collection.import_demonstrations import adopt, demonstrations
from enpire.store import Run
from enpire.types import Episode, Purpose, Times
from tests.environment.reach import reach_stations
from tests.store.samples import episode

SHOWN = {"task": "reach", "purpose": Purpose.DEMONSTRATION, "packs": {}}


@pytest.fixture(scope="module")
def stations() -> StationBackend:
    return reach_stations()


def source(folder: Path, *episodes: Episode) -> Path:
    with Run.create(folder, {}) as run:
        run.add_episodes(episodes)
    return folder


def shown(stations: StationBackend, name: str, **changes: object) -> Episode:
    import numpy as np

    whole = episode(name, 4, **SHOWN)
    seen = np.ones((4, stations.observation_size), np.float32)
    done = np.ones((4, stations.action_size), np.float32)
    return replace(whole, observations=seen, actions=done, **changes)  # type: ignore[arg-type]


def test_they_are_adopted_once(stations: StationBackend, tmp_path: Path) -> None:
    collected = shown(stations, "c", purpose=Purpose.COLLECTION)
    here = source(tmp_path / "from", shown(stations, "a"), shown(stations, "b"), collected)
    with Run.create(tmp_path / "to", {}) as run:
        assert adopt(run, here, stations) == 2
        assert adopt(run, here, stations) == 2, "a run that goes on has them already"
        kept = run.episodes()
    assert [e.id for e in kept] == ["adopted-a", "adopted-b"]
    assert {e.times for e in kept} == {Times()}, "they cost this run nothing"
    assert kept[0].observations.tobytes() == shown(stations, "a").observations.tobytes()


def test_others_are_refused(stations: StationBackend, tmp_path: Path) -> None:
    collected = shown(stations, "c", purpose=Purpose.COLLECTION)
    elsewhere = shown(stations, "t", task="another")
    changed = shown(stations, "p", packs={"tasks/reach": "0"})
    with Run.create(tmp_path / "to", {}) as run:
        for name, one, says in (
            ("none", collected, "no demonstration"),
            ("task", elsewhere, "demonstrates another"),
            ("wide", episode("w", 4, **SHOWN), r"6 observations, 3 actions"),
            ("pack", changed, "tasks/reach changed"),
        ):
            with pytest.raises(StoreError, match=says):
                adopt(run, source(tmp_path / name, one), stations)
        assert not run.episodes()


def test_who_sees_needs_its_pictures_and_who_does_not_a_tracker(
    stations: StationBackend, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import numpy as np

    plain = shown(stations, "a")
    unseen = plain.observations.copy()
    unseen[:, 0] = np.nan
    film = {"pictures": np.zeros((2, 2, 32, 32, 3), np.uint8), "pictured": np.array([0, 2])}
    here = source(tmp_path / "pictures", replace(plain, observations=unseen, **film))
    with pytest.raises(StoreError, match=r"not what a tracker says.*--images 32"):
        demonstrations(here, stations)
    seeing = PolicyCameras(("front", "side"), 32, (1,))
    monkeypatch.setattr(type(stations), "policy_cameras", property(lambda self: seeing))
    assert len(demonstrations(here, stations)) == 1
    seeing = PolicyCameras(("front", "side"), 64, (1,))
    with pytest.raises(StoreError, match="pictures of 32 px by 2 cameras"):
        demonstrations(here, stations)
