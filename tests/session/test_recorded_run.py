"""A run is read as it was recorded: whole, damaged, under way, and not to be written to."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import numpy as np
import pytest

import enpire
from enpire.errors import EnpireError, StoreError
from enpire.store import Run
from enpire.store.episodes import read_files
from enpire.types import Outcome, Purpose, Verdict
from tests.cli.made_run import made
from tests.store.samples import alter, episode, same


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made(tmp_path_factory.mktemp("runs") / "run")


def test_it_says_what_the_ledger_says(folder: Path) -> None:
    run = enpire.Run(folder)
    with Run.open(folder) as store:
        rows = store.ledger.episodes()
        assert [e.id for e in run.episodes] == [row.id for row in rows]
        assert list(run.rounds) == store.ledger.rounds()
        assert list(run.decisions) == store.ledger.decisions()
        assert list(run.policies) == store.ledger.policies()
        assert list(run.evaluations) == store.ledger.sealed()
        for one, verdict, row in zip(run.episodes, run.verdicts, rows, strict=True):
            assert (verdict.outcome, verdict.reason) == (row.outcome, row.reason)
            assert verdict.predicates == store.ledger.predicates(row.id)
            assert one.robot_s == row.reset_s + row.execute_s + row.verify_s
    assert (run.task, run.seed, run.state, run.incumbent) == ("reach", 7, "reached", "policy-1")
    assert (run.success.successes, run.success.trials, run.sealed) == (6, 6, True)
    assert (run.start.successes, run.start.trials) == (0, 2)
    assert run.damage == ()
    assert run.config["loop"]["target"] == 0.5


def test_arrays_of_an_episode_are_those_that_were_recorded(folder: Path) -> None:
    run = enpire.Run(str(folder))
    with Run.open(folder) as store:
        originals = store.episodes(without=None)
    for one, original in zip(run.episodes, originals, strict=True):
        assert same(one.observations, original.observations)
        assert same(one.actions, original.actions)
        assert same(one.times, original.stamps)
        assert not one.actions.flags.writeable
        assert same(one.load(), original)


def test_a_frame_has_a_row_for_each_episode(folder: Path) -> None:
    run = enpire.Run(folder)
    frame = run.episodes_frame()
    assert list(frame.index) == [e.id for e in run.episodes]
    assert frame["success"].sum() == sum(e.outcome is Outcome.SUCCESS for e in run.episodes)
    assert frame["robot_hours"].iloc[-1] == pytest.approx(run.robot_hours)
    assert set(frame["purpose"]) == {"evaluation", "sealed"}
    rounds = run.rounds_frame()
    assert rounds.loc[1, "policy"] == "policy-1"
    assert rounds.loc[1, "success"] == 1.0


def test_a_frame_of_verdicts_has_a_row_for_each_predicate(tmp_path: Path) -> None:
    with Run.create(tmp_path / "run", {"loop": {"task": "reach"}}) as store:
        store.add_episodes([episode("a"), episode("b")])
    frame = enpire.Run(tmp_path / "run").verdicts_frame()
    assert list(frame["episode"]) == ["a", "b"]
    assert list(frame["state"]) == ["pass", "pass"]
    assert np.allclose(frame["margin"], 0.001)


def test_frames_say_how_to_install_what_they_need(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = enpire.Run(folder)
    monkeypatch.setitem(sys.modules, "pandas", None)
    for ask in (run.episodes_frame, run.verdicts_frame, run.rounds_frame):
        with pytest.raises(EnpireError, match="pip install pandas"):
            ask()


def test_a_run_under_way_is_read_as_far_as_it_is(tmp_path: Path) -> None:
    with Run.create(tmp_path / "run", {"loop": {"task": "reach", "seed": 3}}) as store:
        store.ledger.set_facts({"state": "running"})
        store.add_episodes([episode("a")])
        before = enpire.Run(tmp_path / "run")
        store.add_episodes([episode("b")])
        after = enpire.Run(tmp_path / "run")
        assert (before.state, len(before.episodes), len(after.episodes)) == ("running", 1, 2)
        assert after.episodes[1].actions.shape == (5, 3)
    assert enpire.Run(tmp_path / "run").state == "killed", "its process ended without a word"


def test_a_folder_that_cannot_be_written_is_read(tmp_path: Path) -> None:
    folder = made(tmp_path / "run")
    inside = [folder, *folder.rglob("*")]
    for path in inside:
        path.chmod(0o555 if path.is_dir() else 0o444)
    try:
        before = {path: path.stat().st_mtime_ns for path in inside}
        run = enpire.Run(folder)
        assert len(run.episodes[-1].actions) == 3
        assert {path: path.stat().st_mtime_ns for path in [folder, *folder.rglob("*")]} == before
    finally:
        for path in inside:
            path.chmod(0o755 if path.is_dir() else 0o644)


def test_a_damaged_run_opens_and_says_what_is_wrong(tmp_path: Path) -> None:
    folder = made(tmp_path / "run")
    (folder / "policies" / "policy-0.safetensors").unlink()
    with Run.open(folder) as store:
        batch = folder / store.ledger.episodes()[0].path
    group = read_files(batch)["zarr.json"]
    alter(batch, "zarr.json", group.replace(b'"ok"', b'"no"'))
    run = enpire.Run(folder)
    assert any("policy-0" in line for line in run.damage)
    with pytest.raises(StoreError, match="not what was recorded"):
        run.episodes[0].load()
    with pytest.raises(StoreError, match="policy-0"):
        run.load_policy("policy-0")


def test_an_evaluation_that_was_kept_has_its_success_rate(tmp_path: Path) -> None:
    with Run.create(tmp_path / "run", {"eval": {"task": "reach"}}) as store:
        failed = Verdict(Outcome.FAILURE)
        measured = {"purpose": Purpose.EVALUATION, "policy": "random"}
        store.add_episodes([episode("a", **measured), episode("b", verdict=failed, **measured)])
    run = enpire.Run(tmp_path / "run")
    assert (run.task, run.success.successes, run.success.trials) == ("reach", 1, 2)


def test_what_is_no_run_is_told_in_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="there is no run at"):
        enpire.Run(tmp_path / "nowhere")
    with pytest.raises(StoreError, match="is not a run folder"):
        enpire.Run(tmp_path)
    with pytest.raises(StoreError, match="has no policy 'other'"):
        enpire.Run(made(tmp_path / "run")).load_policy("other")
    assert os.listdir(tmp_path) == ["run"]
