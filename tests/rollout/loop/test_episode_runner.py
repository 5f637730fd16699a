"""A step has each episode once: from the store where it is there, else from the fleet."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from enpire.environment import Job
from enpire.errors import RecipeError
from enpire.policies import ChunkPolicy, ChunkSpec, metadata
from enpire.rollout.loop import episode_cache
from enpire.rollout.loop.episode_cache import EpisodeCache
from enpire.rollout.loop.episode_runner import EpisodeRunner
from enpire.rollout.loop.state import LoopState
from enpire.store import Run
from enpire.store.stored_episode import StoredEpisode
from enpire.types import Episode, Frame, Purpose
from tests.environment.reach import reach_stations
from tests.store.samples import episode


def _job(seed: int) -> Job:
    nobody: Any = None
    return Job(seed, Purpose.EVALUATION, nobody, "p")


class _Fleet:
    """Runs each job at once, and an episode of another queue beside it."""

    def __init__(self) -> None:
        self.asked: list[int] = []

    def run(self, jobs: Iterator[Job | None]) -> Iterator[Episode]:
        for job in jobs:
            if job is not None:
                self.asked.append(job.seed)
                yield episode(f"beside-{job.seed}")
                yield episode(job.id)


@pytest.fixture
def fleet() -> _Fleet:
    return _Fleet()


@pytest.fixture
def runner(fleet: _Fleet) -> EpisodeRunner:
    given: Any = fleet
    run: Any = SimpleNamespace()
    return EpisodeRunner(given, EpisodeCache(run, run), LoopState())


def test_what_is_in_the_store_is_not_run_again(runner: EpisodeRunner, fleet: _Fleet) -> None:
    jobs = [_job(seed) for seed in range(3)]
    runner.known.add(episode(jobs[1].id))
    found = [one.id for one in runner.stream(iter(jobs))]
    assert sorted(found) == sorted(job.id for job in jobs)
    assert fleet.asked == [0, 2]
    assert set(runner.known.episodes) == {*found, "beside-0", "beside-2"}
    runner.run(jobs)
    assert (fleet.asked, runner.state.done) == ([0, 2], 3)


def test_it_waits_for_what_is_looked_for(runner: EpisodeRunner) -> None:
    answers = iter([None, None, "policy"])
    assert runner.wait(lambda: next(answers)) == "policy"


def test_a_recipe_that_fails_meanwhile_is_told_of(runner: EpisodeRunner) -> None:
    def look() -> None:
        raise RecipeError("nothing to learn from")

    with pytest.raises(RecipeError, match="nothing to learn from"):
        runner.wait(look)


@pytest.mark.parametrize("pictures", [0, 3])
def test_what_is_recorded_is_held_without_arrays_and_pictures_once_it_is_much(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pictures: int
) -> None:
    monkeypatch.setattr(episode_cache, "MOST_BYTES", 5000)
    stations: Any = None
    frames = tuple(Frame(f"top{i}", np.zeros((40, 60, 3), np.uint8)) for i in range(pictures))
    with Run.create(tmp_path / "run", {}) as run:
        known = EpisodeCache(run, stations)
        for name in "abcdefgh":
            plain = episode(name, 10)
            made = replace(plain, verdict=replace(plain.verdict, frames=frames))
            run.add_episodes([made])
            known.add(made)
            whole = [e for e in known.episodes.values() if not isinstance(e, StoredEpisode)]
            assert sum(map(episode_cache._bytes_of, whole)) <= 5000
        assert list(known.episodes) == list("abcdefgh")
        np.testing.assert_array_equal(known.episodes["a"].actions, episode("a", 10).actions)
        assert any(isinstance(e, StoredEpisode) for e in known.episodes.values()) == (pictures > 0)


def test_only_the_latest_policies_stay_in_memory(tmp_path: Path) -> None:
    policy = ChunkPolicy(ChunkSpec("toy", 4, 2))
    with Run.create(tmp_path / "run", {}) as run:
        names = [f"policy-{number}" for number in range(episode_cache.POLICIES + 1)]
        for name in names:
            run.save_policy(name, policy.tensors(), metadata(policy))
        known = EpisodeCache(run, reach_stations())
        acted = [weakref.ref(known.controller(name)) for name in names]
        gc.collect()
        assert [each() is None for each in acted] == [True] + [False] * episode_cache.POLICIES
        assert known.controller(names[1]) is acted[1]()
