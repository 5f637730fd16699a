"""Where a loop's episodes go: collection is chosen and cut short, evaluation never."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from enpire.environment import CartesianControl, Job
from enpire.environment import initial_condition as foreseen
from enpire.errors import UsageError
from enpire.rollout.collection import early_stop as aborts
from enpire.rollout.collection.failure_replay import VARIANTS
from enpire.rollout.collection.strategy import CollectionStrategy, Round
from enpire.rollout.loop import loop as loops
from enpire.rollout.loop.settings import LoopSettings
from enpire.store import Run
from enpire.twin import Twin
from enpire.types import Episode, FloatArray, Outcome, Purpose
from tests.environment.reach import Reach, Restored, Speed, reach_stations
from tests.rollout.loop.test_loop import SLOW, TINY, Killed, Moves, Steps, go, notes

ASKED = replace(TINY, start_episodes=40, collect=30, max_pairs=3)


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nine successes are enough to end episodes by, and no policy looks good enough."""
    monkeypatch.setattr(aborts, "FALSE", 0.3)
    monkeypatch.setattr(aborts, "STEPS", 100)
    monkeypatch.setattr(loops.Loop, "_looks_good", lambda self, name: False)


def collected(folder: Path, number: int = 1) -> list[Episode]:
    with Run.open(folder) as run:
        return run.episodes(Purpose.COLLECTION, rounds={number})


def ran(folder: Path, settings: LoopSettings, rounds: int = 1) -> Path:
    go(folder, Moves(SLOW), Moves(SLOW), rounds=rounds, settings=settings)
    return folder


def initial(episode: Episode) -> float:
    """How far the goal is [m]; who moves slowly gets to those that are near."""
    return float(foreseen(Reach(), episode.seed, physical=False)[0])


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A round without any of it."""
    kept = loops.Loop._looks_good
    loops.Loop._looks_good = lambda self, name: False  # type: ignore[method-assign]
    folder = ran(tmp_path_factory.mktemp("plain") / "run", ASKED)
    loops.Loop._looks_good = kept  # type: ignore[method-assign]
    return folder


@pytest.mark.medium
def test_hopeless_episodes_are_ended_and_evaluations_are_not(tmp_path: Path, plain: Path) -> None:
    folder = ran(tmp_path / "run", replace(ASKED, abort=True))
    with Run.open(folder) as run:
        episodes = run.episodes()
    ended = [e for e in episodes if e.verdict.outcome is Outcome.ABORTED]
    assert len(ended) >= 3
    assert {e.purpose for e in ended} == {Purpose.COLLECTION}
    assert all(e.verdict.reason.startswith("given up after") for e in ended)
    without = {e.id: e for e in collected(plain)}
    assert {e.id for e in collected(folder)} == without.keys()
    assert not any(aborts.let_run(e.seed) for e in ended)
    assert sum(without[e.id].success for e in ended) <= 1
    assert all(len(e) < len(without[e.id]) for e in ended)
    (note,) = notes(folder, "spent")
    assert note.numbers["ended"] == len(ended)
    assert 0 < note.numbers["let_run"] <= sum(aborts.let_run(e.seed) for e in without.values())


@pytest.mark.medium
def test_the_others_of_a_round_are_the_same_to_the_last_bit(tmp_path: Path, plain: Path) -> None:
    folder = ran(tmp_path / "run", replace(ASKED, abort=True))
    without = {e.id: e for e in collected(plain)}
    for episode in collected(folder):
        if episode.verdict.outcome is not Outcome.ABORTED:
            assert (episode.actions == without[episode.id].actions).all()


def test_collection_goes_where_outcomes_are_in_doubt(tmp_path: Path, plain: Path) -> None:
    folder = ran(tmp_path / "run", replace(ASKED, allocate=True, collect=40))
    with Run.open(folder) as run:
        evaluated = run.episodes(Purpose.EVALUATION, rounds={0})
    chosen = collected(folder)
    edge = max(initial(e) for e in evaluated if e.success)

    def near(some: list[Episode]) -> float:
        return sum(abs(initial(e) - edge) < 0.01 for e in some) / len(some)

    assert near(chosen) > near(evaluated)
    with Run.open(plain) as run:
        assert {e.id for e in evaluated} == {
            e.id for e in run.episodes(Purpose.EVALUATION, rounds={0})
        }


@pytest.mark.medium
def test_what_failed_comes_again_with_other_noise(tmp_path: Path) -> None:
    folder = ran(tmp_path / "run", replace(ASKED, hard=0.5), rounds=2)
    with Run.open(folder) as run:
        episodes = run.episodes()
    for number in (1, 2):
        again = [e for e in collected(folder, number) if e.variant]
        assert {e.variant for e in again} == {VARIANTS + number}
        assert 7 <= len(again) <= 23
        before = {e.seed for e in episodes if e.round < number and not e.success}
        assert {e.seed for e in again} <= before
        others = [e for e in collected(folder, number) if not e.variant]
        assert not {e.seed for e in others} & {e.seed for e in episodes if e.round < number}


@pytest.mark.medium
def test_a_round_that_was_cut_short_asks_for_the_same_again(tmp_path: Path) -> None:
    settings = replace(ASKED, collect=20, allocate=True, abort=True, hard=0.3)
    whole, folder = ran(tmp_path / "whole", settings), tmp_path / "run"
    kills, over = 0, False
    while not over:
        try:
            go(folder, Moves(SLOW), Moves(SLOW), Steps(20), settings=settings)
            over = True
        except Killed:
            kills += 1
            assert kills < 100, "it never ends"
    assert kills > 1
    ours, theirs = ({e.id: e.verdict for e in collected(f)} for f in (folder, whole))
    assert ours == theirs
    assert Outcome.ABORTED in {verdict.outcome for verdict in ours.values()}
    (one,), (other,) = (notes(f, "spent") for f in (folder, whole))
    assert one.numbers == other.numbers


def test_help_and_repeated_starts_are_let_run() -> None:
    stations = reach_stations(1)
    round_ = Round(CollectionStrategy(abort=True), stations, 1, "p", "", [], 0)
    plain = Job(1, Purpose.COLLECTION, Speed(), "p", 1)
    odd = [
        replace(plain, overtime=1.0),
        replace(plain, attempts=2),
        replace(plain, variant=1, forked=3),
        replace(plain, policy="p+demonstrator"),
    ]
    assert round_._acts_as_in_evaluation(plain)
    assert not any(round_._acts_as_in_evaluation(job) for job in odd)
    made = [job for job in round_.jobs(iter([None, plain, *odd])) if job]
    assert len(made) == 5
    assert all(job.give_up is None for job in made)
    assert round_.tally([]) is None, "no episode says what is hopeless"


class Foreign:
    """Stations that say nothing before an episode is run."""

    name = "gym:Foreign-v0"


@pytest.mark.parametrize("what", ["allocate", "abort"])
def test_what_cannot_be_foreseen_is_refused(what: str) -> None:
    with pytest.raises(UsageError, match=f"--{what} .* gym:Foreign-v0"):
        CollectionStrategy(**{what: True}).require(Foreign())  # type: ignore[arg-type]
    CollectionStrategy(hard=0.5).require(Foreign())  # type: ignore[arg-type]
    CollectionStrategy(allocate=True, abort=True).require(reach_stations())


class Placed(Reach):
    """Writes down what it places."""

    def __init__(self) -> None:
        super().__init__()
        self.placed: list[FloatArray] = []

    def place(self, twin: Twin, control: CartesianControl, row: int, variation: FloatArray) -> None:
        self.placed.append(variation)
        super().place(twin, control, row, variation)


def test_an_initial_condition_is_known_before_it_is_run() -> None:
    task = Placed()
    before = foreseen(task, 5, physical=False)
    stations = reach_stations(task=task)
    stations.begin(0, Job(5, Purpose.COLLECTION, Speed(), "p", variant=7))
    stations.abort("seen enough")
    assert np.array_equal(task.placed[0], before)
    assert not np.array_equal(foreseen(task, 6, physical=False), before)
    whole = foreseen(Restored(), 5, physical=False)
    assert np.array_equal(foreseen(Restored(), 5, physical=True), whole[1:]), "joint1, no goal"
