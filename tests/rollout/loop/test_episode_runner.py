"""A step has each episode once: from the store where it is there, else from the fleet."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from enpire.environment import Job
from enpire.errors import RecipeError
from enpire.rollout.loop.episode_cache import EpisodeCache
from enpire.rollout.loop.episode_runner import EpisodeRunner
from enpire.rollout.loop.state import LoopState
from enpire.types import Episode, Purpose
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
