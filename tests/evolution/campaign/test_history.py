"""The history: git reads it, it follows from the ledger, and whoever dies leaves no other."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from enpire.evolution.campaign import history
from enpire.evolution.experiments.effect import Effect
from enpire.evolution.experiments.events import EXPERIMENT
from enpire.evolution.experiments.experiment import Experiment, ExperimentState
from enpire.rollout.evaluation.comparison import PairedRecord
from enpire.store import EventRow, Run
from tests.evolution.moving import TINY, config
from tests.store.samples import episode

needs_git = pytest.mark.skipif(not shutil.which("git"), reason="git is not installed")
WON = PairedRecord(9, 1, 10)


def decided(run: Run, number: int, experiment: Experiment, state: ExperimentState) -> None:
    """Write down an experiment, from its proposal to a decision."""
    steps = [experiment]
    for each in (ExperimentState.TRAINING, ExperimentState.TRIALS):
        steps.append(steps[-1].to(each))
    steps.append(steps[-1].to(state, effect=Effect(WON), reason="as it came out"))
    for step in steps:
        run.ledger.add_event(EventRow(number, EXPERIMENT, step.as_json()))
    run.save_policy(experiment.id, {}, {"of": experiment.id}, round=number, parent=experiment.base)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two agents; one is kept, one dropped, and a merge of both is kept."""
    folder = tmp_path / "run"
    with Run.create(folder, config(TINY)) as run:
        run.add_episodes([episode("d")])
        run.save_policy("policy-0", {}, {"of": "first"}, recipe="bc")
        a = Experiment("a-0", "a", "faster", "moves", "policy-0", source="SPEED = 1\n")
        b = Experiment("b-0", "b", "slower", "bc", "policy-0", (("lr", "1"),))
        both = Experiment("b-1", "b", "both", "bc", "a-0", merges=("a-0", "b-0"))
        decided(run, 1, a, ExperimentState.KEPT)
        decided(run, 2, b, ExperimentState.DROPPED)
        decided(run, 3, both, ExperimentState.KEPT)
        history.write(run)
    return folder


def git(folder: Path, *words: str) -> str:
    command = ["git", f"--git-dir={folder / history.FOLDER}", *words]
    plain = {"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": "/dev/null"}
    environment = os.environ | plain
    return subprocess.run(
        command, env=environment, check=True, capture_output=True, text=True
    ).stdout.strip()


@needs_git
def test_git_finds_nothing_wrong_with_it(folder: Path) -> None:
    assert git(folder, "fsck", "--full", "--strict") == ""
    names = git(folder, "for-each-ref", "--format=%(refname:short)").split()
    assert names == ["agents/a", "agents/b", "main"]


@needs_git
def test_main_is_the_chain_of_those_that_were_kept(folder: Path) -> None:
    said = git(folder, "log", "--reverse", "--format=%an: %s", "main").splitlines()
    assert said == [
        "enpire: policy-0, made by bc",
        "a: a-0 kept: faster",
        "b: b-1 kept: both",
    ]
    picked = git(folder, "log", "-1", "--format=%b", "main")
    assert f"cherry picked from commit {git(folder, 'rev-parse', 'agents/b')}" in picked


@needs_git
def test_an_agent_s_branch_is_what_it_tried_in_order(folder: Path) -> None:
    said = git(folder, "log", "--first-parent", "--reverse", "--format=%s", "agents/b").splitlines()
    assert said == ["policy-0, made by bc", "b-0 dropped: slower", "b-1 kept: both"]


@needs_git
def test_a_merge_has_what_it_joins_as_parents(folder: Path) -> None:
    first, second = git(folder, "log", "-1", "--format=%P", "agents/b").split()
    assert first == git(folder, "rev-parse", "agents/b~1")
    assert second == git(folder, "rev-parse", "agents/a")
    trailers = git(folder, "log", "-1", "--format=%(trailers:only)", "agents/b").splitlines()
    with Run.open(folder) as run:
        row = run.ledger.policy("b-1")
    assert row is not None
    assert trailers == [
        "Experiment: b-1",
        "State: kept",
        "Base: a-0",
        f"Policy: {row.sha256}",
        "Merges: a-0, b-0",
    ]


@needs_git
def test_a_commit_holds_the_experiment_and_the_code_it_brought(folder: Path) -> None:
    assert git(folder, "show", "agents/a:recipe.py") == "SPEED = 1"
    said = json.loads(git(folder, "show", "agents/a:experiment.json"))
    assert (said["id"], said["state"], said["effect"]["wins"]) == ("a-0", "kept", 9)
    assert said["seeds"] == {"campaign": TINY.seed, "round": 1}
    files = git(folder, "ls-tree", "--name-only", "agents/b").split()
    assert files == ["campaign.json", "experiment.json"]


def test_it_is_made_again_from_the_ledger_to_the_same_hashes(folder: Path) -> None:
    with Run.open(folder) as run:
        before = history.history(run).refs
        assert list(history.differences(run)) == []
        shutil.rmtree(folder / history.FOLDER)
        assert list(history.differences(run)) == [f"there is no {history.FOLDER}"]
        history.write(run)
        assert list(history.differences(run)) == []
        assert history.history(run).refs == before


@pytest.mark.parametrize("nth", [0, 1, 2, 5, 9])
def test_what_a_process_left_out_that_died_is_written_later(
    folder: Path, nth: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.rmtree(folder / history.FOLDER)
    publish, left = history.publish_file, [nth]

    class Died(BaseException):
        pass

    def dying(path: Path, data: bytes) -> None:
        if not left[0]:
            raise Died
        left[0] -= 1
        publish(path, data)

    with Run.open(folder) as run:
        monkeypatch.setattr(history, "publish_file", dying)
        with pytest.raises(Died):
            history.write(run)
        monkeypatch.setattr(history, "publish_file", publish)
        assert list(history.differences(run))
        history.write(run)
        assert list(history.differences(run)) == []


@needs_git
@pytest.mark.parametrize(
    "hypothesis", ["more\n\nState: kept", "x\nparent 0000", "\u202eevil\x1b[31m", "é" * 300]
)
def test_what_an_agent_says_stays_in_the_subject(tmp_path: Path, hypothesis: str) -> None:
    with Run.create(tmp_path / "run", config(TINY)) as run:
        run.add_episodes([episode("d")])
        run.save_policy("policy-0", {}, {"of": "first"})
        lying = Experiment("a-0", "a", hypothesis, "bc", "policy-0")
        decided(run, 1, lying, ExperimentState.DROPPED)
        history.write(run)
    assert git(tmp_path / "run", "fsck", "--strict") == ""
    trailers = git(tmp_path / "run", "log", "-1", "--format=%(trailers:only)", "agents/a")
    assert trailers.count("State:") == 1
    assert "State: dropped" in trailers
    assert "\x1b" not in git(tmp_path / "run", "log", "-1", "--format=%B", "agents/a")
