"""Pictures of what was recorded: the twin repeats it, and says so when it does not."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from enpire.datasets.pictures import Cameras, Shooting
from enpire.environment import Controller, Demonstrations, Job, RandomActions, build_stations
from enpire.environment.cameras.twin_cameras import NoGraphics
from enpire.environment.core.policy_cameras import EVERY, TwinFrameCapture
from enpire.environment.core.replay import Replay
from enpire.errors import StoreError, UsageError
from enpire.types import Episode, Purpose

REACH = Path(__file__).parents[2] / "examples" / "tasks" / "reach"
SIZE = 48
LENGTH = 20  # periods: pictures take long where no graphics card is
ARRAYS = ("observations", "actions", "stamps", "rewards", "intervened")


def demonstration() -> Episode:
    stations = build_stations("pick_cube", 1, 1)
    try:
        stations.frame_capture = TwinFrameCapture(stations.task, stations.sensors, SIZE)
    except NoGraphics as error:
        pytest.skip(str(error))
    expert = Demonstrations(stations.task)
    stations.begin(0, Job(4, Purpose.DEMONSTRATION, expert, "demonstrator"))
    done: list[Episode] = []
    while not done:
        done = stations.tick()
    stations.frame_capture.close()
    whole = done[0]
    arrays = {name: getattr(whole, name)[:LENGTH] for name in ARRAYS}
    taken = whole.pictured < LENGTH
    shown = {"pictures": whole.pictures[taken], "pictured": whole.pictured[taken]}
    return replace(whole, packs=stations.packs, **arrays, **shown)


def test_every_period_is_seen_as_a_policy_would() -> None:
    episode = demonstration()
    shooting = Shooting("pick_cube", SIZE)
    pictures = shooting(episode)
    cameras = len(shooting.policy_cameras.cameras)
    assert pictures.shape == (len(episode), cameras, SIZE, SIZE, 3)
    moved = np.abs(pictures[0].astype(int) - pictures[-1]).mean()
    still = np.abs(pictures[0].astype(int) - pictures[1]).mean()
    assert moved > still, "the arm and the cube have moved"
    blind = replace(episode, pictures=episode.pictures[:0], pictured=episode.pictured[:0])
    np.testing.assert_array_equal(shooting(blind), pictures)
    assert len(episode.pictured) == LENGTH // EVERY
    np.testing.assert_array_equal(pictures[episode.pictured], episode.pictures)
    other = replace(episode, actions=np.roll(episode.actions, 3, axis=0))
    with pytest.raises(StoreError, match="does not repeat"):
        shooting(other)
    with pytest.raises(StoreError, match="tasks/pick_cube changed"):
        shooting(replace(episode, packs=episode.packs | {"tasks/pick_cube": "0" * 64}))
    shooting.close()


def test_an_unknown_camera_is_named() -> None:
    with pytest.raises(UsageError, match="front"):
        Cameras(build_stations("pick_cube", 1, 1), ["frnt"], 48, 64)


def test_what_was_planned_goes_on_where_the_scene_looks_done() -> None:
    stations = build_stations(str(REACH), 1, 1)

    def ended(controller: Controller) -> Episode:
        stations.begin(0, Job(4, Purpose.EVALUATION, controller, "p"))
        done: list[Episode] = []
        while not done:
            done = stations.tick()
        return replace(done[0], packs=stations.packs)

    shown = ended(Demonstrations(stations.task))
    planned = np.concatenate([shown.actions, np.zeros((3, stations.action_size), np.float32)])
    episode = ended(Replay(planned, RandomActions(stations.action_size)))
    assert len(episode) == len(shown) + 3
    try:
        shooting = Shooting(str(REACH), SIZE)
    except NoGraphics as error:
        pytest.skip(str(error))
    assert len(shooting(episode)) == len(episode)
    shooting.close()
