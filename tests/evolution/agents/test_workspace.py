"""A workspace is a clone that the agent's git works in, and fetches into; not the other way."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from enpire.errors import CampaignError, EnpireError
from enpire.evolution.agents.workspace import cloned, committed
from enpire.evolution.campaign import history
from enpire.evolution.experiments.experiment import Experiment, ExperimentState
from enpire.sandbox import bubblewrap
from enpire.sandbox.git_fetch import Repository
from enpire.sandbox.sandbox import CommandResult, Sandbox, available
from enpire.store import Run
from tests.evolution.campaign.test_history import decided, needs_git
from tests.evolution.moving import TINY, config
from tests.store.samples import episode

pytestmark = [
    needs_git,
    pytest.mark.skipif(not available().works, reason=available().reason),
]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    with Run.create(tmp_path / "run", config(TINY)) as run:
        run.add_episodes([episode("d")])
        run.save_policy("policy-0", {}, {"of": "first"}, recipe="bc")
        history.write(run)
        yield run  # type: ignore[misc]


@pytest.fixture
def workspace(run: Run, tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    cloned(run.folder / history.FOLDER, folder, "b")
    bubblewrap.hand_over(folder)
    return folder


def sh(run: Run, workspace: Path, script: str) -> CommandResult:
    """What an agent's program does there."""
    seen = ((run.folder / history.FOLDER).resolve(),)
    return Sandbox(readable=seen, writable=(workspace,)).run(["sh", "-ec", script])


def test_it_is_a_clone_that_the_agent_commits_to(run: Run, workspace: Path) -> None:
    script = "git status --short; echo x > recipe.py; git add -A; git commit -qm x; git log -1"
    ended = sh(run, workspace, script)
    assert ended.code == 0, ended.err
    said = ended.out.decode()
    assert said.startswith("commit "), "nothing there that is not in the history"
    assert "Author: b <b@localhost>" in said
    taken = Repository(run.folder / "taken.git")
    taken.create()
    files = taken.files(taken.fetch(workspace, "b"))
    assert sorted(files) == ["campaign.json", "recipe.py"]


def test_what_was_decided_since_is_fetched(run: Run, workspace: Path) -> None:
    decided(run, 1, Experiment("a-0", "a", "faster", "bc", "policy-0"), ExperimentState.KEPT)
    assert b"a-0" not in sh(run, workspace, "git log origin/main").out
    history.write(run)
    ended = sh(
        run, workspace, "git fetch -q origin; git log --format=%s origin/main origin/agents/a"
    )
    assert ended.code == 0, ended.err
    assert ended.out.decode().count("a-0 kept: faster") == 2


def test_nothing_is_pushed(run: Run, workspace: Path) -> None:
    script = "git commit -q --allow-empty -m mine; git push -q origin HEAD:main"
    ended = sh(run, workspace, script)
    assert ended.code != 0
    assert b"Read-only file system" in ended.err or b"unable to" in ended.err
    assert list(history.differences(run)) == []


def test_what_an_agent_has_made_of_it_is_left_alone(run: Run, workspace: Path) -> None:
    shutil.rmtree(workspace / ".git")
    (workspace / "notes").write_text("mine")
    cloned(run.folder / history.FOLDER, workspace, "b")
    assert not (workspace / ".git").exists()
    assert (workspace / "notes").read_text() == "mine"


def test_what_is_committed_is_taken_and_nothing_else(run: Run, workspace: Path) -> None:
    script = "echo one > recipe.py; git add -A; git commit -qm x; echo two > recipe.py"
    assert sh(run, workspace, script).code == 0
    assert committed(workspace, "b", "recipe.py") == "one\n"
    with pytest.raises(CampaignError, match="commit it first"):
        committed(workspace, "b", "other.py")
    assert sh(run, workspace, "git commit -qam y").code == 0
    assert committed(workspace, "b", "recipe.py") == "two\n"


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("ln -s /etc/passwd recipe.py; git add -A; git commit -qm x", "a link"),
        ("printf '\\377' > recipe.py; git add -A; git commit -qm x", "no text"),
        ("rm -rf .git", "no such branch"),
    ],
)
def test_what_is_no_plain_text_is_refused(
    run: Run, workspace: Path, script: str, words: str
) -> None:
    assert sh(run, workspace, script).code == 0
    with pytest.raises(EnpireError, match=words):
        committed(workspace, "b", "recipe.py")
