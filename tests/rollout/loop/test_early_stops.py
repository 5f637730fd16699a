"""Hopeless episodes of a loop's collection end early, those of its evaluations never."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from enpire.environment import Job
from enpire.errors import UsageError
from enpire.rollout.collection import early_stop as aborts
from enpire.rollout.loop.sealed_evaluations import SealedEvaluations
from enpire.rollout.loop.settings import LoopSettings
from enpire.store import Run
from enpire.types import Episode, Outcome, Purpose
from tests.environment.reach import Speed, reach_stations

from .test_loop import SLOW, TINY, Killed, Moves, Steps, go, notes

ASKED = TINY.but(start_episodes=40, collect=30, max_pairs=3)


@pytest.fixture(autouse=True)
def few_are_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nine successes are enough to end episodes by, and no policy looks good enough."""
    monkeypatch.setattr(aborts, "FALSE", 0.3)
    monkeypatch.setattr(aborts, "STEPS", 100)
    monkeypatch.setattr(SealedEvaluations, "_looks_good", lambda self, *_: False)


def collected(folder: Path, number: int = 1) -> list[Episode]:
    with Run.open(folder) as run:
        return run.episodes(Purpose.COLLECTION, rounds={number})


def ran(folder: Path, settings: LoopSettings, rounds: int = 1) -> Path:
    go(folder, Moves(SLOW), Moves(SLOW), rounds=rounds, settings=settings)
    return folder


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A round without any of it."""
    kept = SealedEvaluations._looks_good
    SealedEvaluations._looks_good = lambda self, *_: False  # type: ignore[method-assign]
    folder = ran(tmp_path_factory.mktemp("plain") / "run", ASKED)
    SealedEvaluations._looks_good = kept  # type: ignore[method-assign]
    return folder


@pytest.mark.medium
def test_hopeless_episodes_are_ended_and_evaluations_are_not(tmp_path: Path, plain: Path) -> None:
    folder = ran(tmp_path / "run", ASKED.but(abort=True))
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
    folder = ran(tmp_path / "run", ASKED.but(abort=True))
    without = {e.id: e for e in collected(plain)}
    for ours in collected(folder):
        if ours.verdict.outcome is not Outcome.ABORTED:
            assert (ours.actions == without[ours.id].actions).all()


@pytest.mark.medium
def test_a_round_that_was_cut_short_asks_for_the_same_again(tmp_path: Path) -> None:
    settings = ASKED.but(collect=20, abort=True)
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
    round_ = aborts.RoundEarlyStops(stations, "p", [], 0)
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


def test_what_cannot_be_foreseen_is_refused() -> None:
    with pytest.raises(UsageError, match=r"--abort .* gym:Foreign-v0"):
        aborts.require_foresight(Foreign())  # type: ignore[arg-type]
    aborts.require_foresight(reach_stations())
