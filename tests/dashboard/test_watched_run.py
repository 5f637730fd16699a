"""A run that is looked at while it grows is the same as one that is read whole."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from enpire.dashboard import run_board, views
from enpire.dashboard.run_board import RunBoard
from enpire.dashboard.watched_run import WatchedRun
from enpire.errors import UsageError
from enpire.evolution.experiments.events import EXPERIMENT
from enpire.evolution.experiments.experiment import Experiment
from enpire.observe.report.success import read_success
from enpire.observe.status import status_of, write_status
from enpire.rollout.fleet.station_state import StationState
from enpire.rollout.loop.state import LoopState
from enpire.store import EventRow, LogEntry, Run
from enpire.types import Outcome, Purpose, Verdict
from tests.observe.report.ledgers import write_run
from tests.store.samples import episode


def test_what_was_seen_bit_by_bit_is_what_a_report_reads(tmp_path: Path) -> None:
    rows = [
        episode(f"{n}", n % 5 + 1, policy=policy, round=n % 3, station=n % 2, purpose=purpose)
        for n, (policy, purpose) in enumerate(
            [("policy-0", Purpose.EVALUATION), ("policy-1", Purpose.EVALUATION)] * 20
            + [("policy-1.0", Purpose.COLLECTION)] * 50
            + [("policy-1", Purpose.SEALED)] * 5
        )
    ]
    with Run.create(tmp_path / "run", {"loop": {"task": "reach", "target": 0.9}}) as run:
        watched = WatchedRun("run", run.folder)
        for part in (rows[:1], rows[1:30], rows[30:]):
            run.add_episodes(part)
            assert watched.refresh()
        assert not watched.refresh(), "nothing is new"
        assert watched.curve() == read_success(run, run.ledger.episodes())
        assert watched.tally.outcomes == {Outcome.SUCCESS: len(rows)}
        run.ledger.add_decision(LogEntry(1, "kept", "x"))
        assert watched.refresh()
        assert [line.text for line in watched.log] == ["x"]


def test_a_report_and_a_dashboard_see_the_same_course(tmp_path: Path) -> None:
    with write_run(tmp_path / "run", scale=3) as run:
        watched = WatchedRun("run", run.folder)
        watched.refresh()
        assert watched.curve() == read_success(run, run.ledger.episodes())
        assert watched.now.success.successes == 75
        assert "policy-1, sealed" in views.success_html(watched)
        assert "better on 9 of 12 seeds" in views.rounds_html(watched)


def test_a_ledger_that_was_made_anew_is_read_from_its_beginning(tmp_path: Path) -> None:
    write_run(tmp_path / "run", scale=2).close()
    write_run(tmp_path / "other").close()
    watched = WatchedRun("run", tmp_path / "run")
    watched.refresh()
    assert watched.tally.number == 200
    shutil.rmtree(tmp_path / "run")
    watched.refresh()
    assert watched.now.problem
    (tmp_path / "other").rename(tmp_path / "run")
    watched.refresh()
    assert (watched.tally.number, watched.now.problem) == (100, "")


def test_a_run_without_its_process_was_killed(tmp_path: Path) -> None:
    with Run.create(tmp_path / "run", {}) as run:
        run.ledger.set_facts({"state": "running"})
        watched = WatchedRun("run", run.folder)
        watched.refresh()
        assert (watched.now.state, watched.now.live) == ("running", True)
    watched.refresh()
    assert (watched.now.state, watched.now.live) == ("killed", False)


def test_a_campaign_s_experiments_are_followed_with_their_hypotheses(tmp_path: Path) -> None:
    config = {"loop": {"task": "reach"}, "campaign": {"confinement": "bubblewrap"}}
    first = Experiment("e1", "agent-1", "a <b>larger</b> step helps", "bc", "policy-0")
    with Run.create(tmp_path / "run", config) as run:
        watched = WatchedRun("run", run.folder)
        watched.refresh()
        assert "0 experiments" in views.experiments_html(watched)
        run.ledger.add_event(EventRow(1, EXPERIMENT, first.as_json()))
        run.add_episodes([episode("a", round=1)])
        watched.refresh()
        html = views.experiments_html(watched)
        assert "1 experiment, 0 kept" in html
        assert "a &lt;b&gt;larger&lt;/b&gt; step helps" in html
        assert watched.now.campaign is not None
        assert watched.now.campaign.experiments[0].robot_s == 3.5


def test_stations_say_what_they_do_while_a_loop_tells(tmp_path: Path) -> None:
    lost = Verdict(Outcome.FAILURE, (), 0.0, "held", "dropped")
    with Run.create(tmp_path / "run", {"loop": {"task": "reach", "robots": 3}}) as run:
        run.add_episodes([episode("a"), episode("b", verdict=lost)])
        states = [
            StationState(0, "running", 1.234, "c", "evaluation", "policy-1"),
            StationState(1, "aside", 9.0, reason="a cable"),
        ]
        write_status(run.folder, status_of(LoopState("comparing", 2), states))
        watched = WatchedRun("run", run.folder)
        watched.refresh()
        first, second, third = views.stations(watched, watched.status())
        assert (first["state"], first["clock_s"], first["policy"]) == ("running", 1.2, "policy-1")
        assert (first["successes"], first["judged"]) == (1, 2)
        assert (first["last"]["id"], first["last"]["stage"]) == ("b", "held")
        assert (second["state"], second["reason"], second["last"]) == ("aside", "a cable", None)
        assert third["state"] == "unknown"
        assert views.run_head(watched, watched.status())["doing"] == "comparing"
    watched.refresh()
    assert watched.status() is None
    assert [one["state"] for one in views.stations(watched, None)] == ["off"] * 3


def test_runs_come_and_go_in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_board, "LOOK_S", 0.0)
    monkeypatch.setattr(run_board, "SCAN_S", 0.0)
    (tmp_path / "no-run").mkdir()
    board = RunBoard(tmp_path)
    assert board.refresh()
    assert board.runs() == []
    write_run(tmp_path / "b").close()
    with write_run(tmp_path / "a"):
        assert board.refresh()
        assert [run.name for run in board.runs()] == ["a", "b"], "those under way come first"
    assert board.refresh()
    assert [run.name for run in board.runs()] == ["b", "a"]
    shutil.rmtree(tmp_path / "b")
    assert board.refresh()
    assert [run.name for run in board.runs()] == ["a"]
    assert board.find("../a") is None


def test_a_large_folder_is_read_bit_by_bit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_board, "PATIENCE_S", -1.0)
    for name in ("a", "b"):
        write_run(tmp_path / name).close()
    board = RunBoard(tmp_path)
    assert not board.refresh()
    assert [run.now.version for run in board.runs()] == [1, 0]
    assert board.refresh()
    assert [run.now.version for run in board.runs()] == [1, 1]


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is no folder"):
        RunBoard(tmp_path / "nowhere")
