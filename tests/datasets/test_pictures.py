"""Pictures of what was recorded: the twin repeats it, and says so when it does not."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from enpire.datasets.pictures import Shooting
from enpire.environment import Demonstrations, Job, build_stations
from enpire.environment.eyes import NoGraphics
from enpire.errors import StoreError, UsageError
from enpire.types import Episode, Purpose

LENGTH = 20  # periods: pictures take long where no graphics card is
ARRAYS = ("observations", "actions", "stamps", "rewards", "intervened")


def demonstration() -> Episode:
    stations = build_stations("pick_cube", 1, 1)
    expert = Demonstrations(stations.task)
    stations.begin(0, Job(4, Purpose.DEMONSTRATION, expert, "demonstrator"))
    done: list[Episode] = []
    while not done:
        done = stations.tick()
    whole = done[0]
    arrays = {name: getattr(whole, name)[:LENGTH] for name in ARRAYS}
    return replace(whole, packs=stations.packs, **arrays)


def shooting_of(*cameras: str) -> Shooting:
    try:
        return Shooting("pick_cube", cameras, 48, 64)
    except NoGraphics as error:
        pytest.skip(str(error))


def test_every_period_is_seen() -> None:
    shooting, episode = shooting_of("front"), demonstration()
    pictures = shooting(episode)["front"]
    assert len(pictures) == len(episode)
    assert {(p.shape, p.dtype.name) for p in pictures} == {((48, 64, 3), "uint8")}
    moved = np.abs(pictures[0].astype(int) - pictures[-1]).mean()
    still = np.abs(pictures[0].astype(int) - pictures[1]).mean()
    assert moved > still, "the arm and the cube have moved"
    again = shooting(episode)["front"]
    assert all(np.array_equal(a, b) for a, b in zip(pictures, again, strict=True))
    other = replace(episode, actions=np.roll(episode.actions, 3, axis=0))
    with pytest.raises(StoreError, match="does not repeat"):
        shooting(other)
    with pytest.raises(StoreError, match="tasks/pick_cube changed"):
        shooting(replace(episode, packs=episode.packs | {"tasks/pick_cube": "0" * 64}))
    shooting.close()


def test_an_unknown_camera_is_named() -> None:
    with pytest.raises(UsageError, match="front"):
        shooting_of("frnt")
