"""Scenes of a loop that runs, taken over by another process that draws them."""

from __future__ import annotations

import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from enpire.environment import Job, Stations, build_stations
from enpire.errors import StoreError, UsageError
from enpire.observe import live_scene
from enpire.observe.filming import HoldStill
from enpire.observe.live_scene import LiveScenes, SceneCopy, ScenePublisher, read_scenes
from enpire.store import Run
from enpire.store.layout import SCENES
from enpire.types import Purpose

TASK = "pick_cube"
LONG_S = 60.0  # more than a busy machine takes


@pytest.fixture(scope="module")
def stations() -> Stations:
    """Two, whose scenes lie by different seeds."""
    made = build_stations(TASK, 2, 1)
    for row in range(2):
        still = HoldStill(made.task.actions.size)
        made.begin(row, Job(row + 3, Purpose.EVALUATION, still, "p"))
    made.tick()
    made.wait()
    return made


def _published(folder: Path, backend: Any) -> LiveScenes | None:
    with ScenePublisher(folder, backend):
        end = time.monotonic() + LONG_S
        while (found := read_scenes(folder)) is None and time.monotonic() < end:
            time.sleep(0.01)
        return found


def test_a_copy_lies_as_the_station_does(stations: Stations, tmp_path: Path) -> None:
    scenes = _published(tmp_path, stations)
    assert scenes is not None
    assert scenes.stations == 2
    with Run.create(tmp_path / "run", {"loop": {"task": TASK}}) as run:
        copy = SceneCopy(run)
    for row in (1, 0):
        copy.take(scenes, row)
        there = {name: values[row] for name, values in stations.twin.drawn().items()}
        for name, values in copy.stations.twin.drawn().items():
            np.testing.assert_array_equal(values[0], there[name])
        _, data = copy.stations.twin.simulation(0)
        cube = data.site(stations.task.tracked[0]).xpos.copy()
        _, data = stations.twin.simulation(row)
        np.testing.assert_allclose(cube, data.site(stations.task.tracked[0]).xpos)


def test_the_file_goes_with_the_loop(stations: Stations, tmp_path: Path) -> None:
    assert _published(tmp_path, stations) is not None
    assert not (tmp_path / SCENES).exists()
    assert read_scenes(tmp_path) is None


def test_stations_on_other_machines_are_not_published(tmp_path: Path) -> None:
    with ScenePublisher(tmp_path, SimpleNamespace()):  # type: ignore[arg-type]
        time.sleep(0.05)
        assert not list(tmp_path.iterdir())


def test_scenes_of_a_process_that_died_are_none(
    stations: Stations, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    publisher = ScenePublisher(tmp_path, stations)
    with monkeypatch.context() as ended:
        ended.setattr(Path, "unlink", lambda *_, **__: None)
        with publisher:
            while read_scenes(tmp_path) is None:
                time.sleep(0.01)
    monkeypatch.setattr(live_scene, "FRESH_S", LONG_S)
    assert read_scenes(tmp_path) is not None
    monkeypatch.setattr(live_scene, "FRESH_S", 0.0)
    assert read_scenes(tmp_path) is None


def test_a_scene_of_other_packs_is_refused(tmp_path: Path) -> None:
    with Run.create(tmp_path / "run", {"loop": {"task": TASK}}) as run:
        copy = SceneCopy(run)
    with pytest.raises(StoreError, match="station 0 is of other packs"):
        copy.take(LiveScenes(0.0, {"qpos": np.zeros((1, 3))}), 0)
    gym = {"loop": {"task": "gym:CartPole-v1"}}
    with Run.create(tmp_path / "gym", gym) as run, pytest.raises(UsageError, match="no task pack"):
        SceneCopy(run)
