"""Environments that are slightly wrong: an episode is invalid and says why, or a sentence ends it.

None of them becomes a number, ends the process that asks, or hangs it. What one returns is in
`tests/inputs/environments.py`; here are its process, and what comes of several episodes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from enpire.cli import main
from enpire.environment import Job, RandomActions
from enpire.environment.gym_bridge.gym_stations import GymStations
from enpire.errors import EnpireError, ResetFailed, UsageError
from enpire.rollout.fleet.fleet import Fleet
from enpire.store import EpisodeWriter, Run
from enpire.types import LOST, Episode, Outcome, Purpose
from tests.environment.odd import ONE

pytestmark = pytest.mark.medium

ROOT = Path(__file__).parents[2]
Make = Callable[..., GymStations]


@pytest.fixture
def make(monkeypatch: pytest.MonkeyPatch) -> Iterator[Make]:
    """Stations of an odd environment, whose workers are ended after the test."""
    monkeypatch.chdir(ROOT)
    made: list[GymStations] = []

    def stations(kind: str, success: str = "", count: int = 1, **given: object) -> GymStations:
        query = "".join(f"&{name}={value}" for name, value in given.items())
        task = f"gym:tests.environment.odd:odd/Line-v0?kind={kind}{query}"
        made.append(GymStations(task, count, success=success))
        return made[-1]

    yield stations
    for one in made:
        one.close()


def one(stations: GymStations, seed: int = 5) -> Episode:
    """An episode of a station."""
    stations.begin(stations.idle[0], Job(seed, Purpose.EVALUATION, RandomActions(1), "p"))
    while not (done := stations.tick()):
        pass
    return done[0]


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("exits", r"died \(exit code 0\)"),
        ("exits_as_a_budget", r"died \(exit code 3\)"),
        ("crashes", r"died \(exit code -6\)"),
    ],
)
def test_a_process_that_ends_is_a_lost_station(make: Make, kind: str, words: str) -> None:
    import re

    episode = one(stations := make(kind, until=1))
    assert (episode.verdict.outcome, episode.verdict.stage) == (Outcome.INVALID, LOST)
    assert re.search(words, episode.verdict.reason)
    assert not stations.aside, "it tries again"


@pytest.mark.parametrize("kind", ["raises", "seen_nan", "exits", "reset_raises"])
def test_after_three_in_a_row_a_station_is_set_aside(make: Make, kind: str) -> None:
    stations = make(kind)
    for left in (2, 1, 0):
        assert one(stations).verdict.outcome is Outcome.INVALID
        assert bool(stations.aside) is (left == 0)
    assert stations.idle == []
    assert "3 faults in a row, the last: gym:" in stations.aside[0] or "worker" in stations.aside[0]
    stations.recover(0)
    assert stations.idle == [0]


def test_one_fault_is_no_habit(make: Make) -> None:
    stations = make("seen_nan", at=1, until=2)
    outcomes = [one(stations).verdict.outcome for _ in range(4)]
    assert outcomes == [Outcome.SUCCESS, Outcome.INVALID, Outcome.SUCCESS, Outcome.SUCCESS]
    assert not stations.aside


def test_others_go_on_beside_one_that_raises(make: Make, tmp_path: Path) -> None:
    """A fleet has all that is asked for, as far as one station holds out."""
    stations = make("raises", count=2)
    stations._down.clear()
    stations._environments[1] = make("", count=1)._environments[0]
    jobs = [Job(seed, Purpose.EVALUATION, RandomActions(1), "p") for seed in range(8)]
    with Run.create(tmp_path / "run", {}) as run, EpisodeWriter(run) as writer:
        done = list(Fleet(stations, writer).run(iter(jobs)))
    by = {row: [e.verdict.outcome for e in done if e.station == row] for row in (0, 1)}
    assert set(by[1]) == {Outcome.SUCCESS}
    assert by[0] in ([], [Outcome.INVALID]), "a job is tried again, here or on the other station"
    assert len(done) == 8


@pytest.mark.parametrize(
    ("kind", "given", "left"),
    [("seen_nan", {"at": 2, "until": 3}, []), ("one_seed", {}, [ONE])],
    ids=["a fault that passes", "a fault that is the seed's"],
)
def test_what_a_fault_spoiled_is_tried_once_more(
    make: Make, tmp_path: Path, kind: str, given: dict[str, int], left: list[int]
) -> None:
    """So a candidate of a comparison does not fail for it; see `PairedComparison`."""
    stations = make(kind, **given)
    jobs = [Job(seed, Purpose.EVALUATION, RandomActions(1), "p") for seed in range(5)]
    with Run.create(tmp_path / "run", {}) as run, EpisodeWriter(run) as writer:
        done = list(Fleet(stations, writer).run(iter(jobs)))
        writer.flush()
        assert len(run.ledger.episodes()) == 6, "what came to nothing is kept too"
    assert [e.seed for e in done if e.verdict.outcome is Outcome.INVALID] == left
    assert sorted(e.id for e in done) == sorted(job.id for job in jobs)
    assert not stations.aside


def test_all_aside_ends_the_run_with_the_reason(make: Make, tmp_path: Path) -> None:
    jobs = [Job(seed, Purpose.EVALUATION, RandomActions(1), "p") for seed in range(12)]
    with Run.create(tmp_path / "run", {}) as run, EpisodeWriter(run) as writer:
        with pytest.raises(ResetFailed, match="out of cheese"):
            list(Fleet(make("raises"), writer).run(iter(jobs)))
        writer.flush()
        assert {str(row.outcome) for row in run.ledger.episodes()} == {"invalid"}


# Which step counts, and which word


def test_success_in_the_middle_is_told(make: Make) -> None:
    episode = one(make("in_the_middle"))
    assert not episode.success
    assert "at its last step (it was 1 at step 3: --success any" in episode.verdict.reason
    stations = make("in_the_middle", "any")
    episode = one(stations)
    assert episode.success
    assert (len(episode), episode.rewards[-1]) == (3, 1.0)
    assert stations.verified_by == "its environment, success at any step"


@pytest.mark.parametrize(
    ("kind", "rule"),
    [("succeed", ""), ("other_key", "info:solved"), ("other_key", "any:solved")],
)
def test_other_words_for_success(make: Make, kind: str, rule: str) -> None:
    assert one(make(kind, rule)).success


@pytest.mark.parametrize(("kind", "rule"), [("other_key", ""), ("succeed", "info:solved")])
def test_who_does_not_say_is_asked(make: Make, kind: str, rule: str) -> None:
    with pytest.raises(UsageError, match="--success info:KEY"):
        one(make(kind, rule))


def test_any_success_that_is_unclear(make: Make) -> None:
    assert one(make("success_nan", "any")).verdict.outcome is Outcome.INVALID


# The command line


def test_nothing_judged_is_no_result(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of one episode, whose seed is the one that does not work."""
    monkeypatch.chdir(ROOT)
    assert main(evaluated("reward_nan", "--episodes", "1", "--json")) == 1
    said = capsys.readouterr()
    assert '"success": null' in said.out
    assert "none of 2 episodes was judged" in said.err


def evaluated(kind: str, *more: str) -> list[str]:
    task = f"gym:tests.environment.odd:odd/Checked-v0?kind={kind}"
    return ["eval", "--policy", "random", "--task", task, "--robots", "1", *more]


def test_how_many_are_invalid_is_said(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(ROOT)
    assert main(evaluated("reward_nan&at=1&until=3", "--episodes", "6")) == 0
    said = capsys.readouterr().out
    assert "1.000" in said
    assert "of 5" in said
    assert "invalid, and not counted: 2 of 7 episodes" in said
    assert "reward is nan" in said


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("exits_as_a_budget", "exit code 3"),
        ("exits", "exit code 0"),
        ("success_text", "is_success is 'False'"),
        ("rate_negative", "render_fps=-25"),
    ],
)
def test_the_whole_run_ends_with_a_sentence(
    kind: str, words: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(ROOT)
    code = main(evaluated(kind, "--episodes", "12"))
    told = capsys.readouterr().err
    assert code in (EnpireError.exit_code, UsageError.exit_code)
    assert words in told
    assert "recorded already" not in told
