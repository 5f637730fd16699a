"""Acts that leave something in a workspace for whoever looks at it later."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from enpire.environment import Readings
from enpire.errors import PolicyError
from enpire.evolution.program_policies.policy_process import PolicyProcess
from enpire.policies import ProgramPolicy
from enpire.sandbox import git_fetch
from enpire.sandbox.bubblewrap import hand_over
from enpire.sandbox.git_fetch import FetchError, Repository
from enpire.sandbox.safe_read import ReadError, read_inside

from .arena import needs_sandbox

pytestmark = [needs_sandbox, pytest.mark.medium]
POLICY = """
import numpy as np
class Still:
    def begin(self, row): pass
    def act(self, rows, observations): return np.zeros((len(rows), 7))
def make(observation, action): return Still()
"""
SENSED = Readings(*(np.zeros((1, 0)) for _ in range(len(Readings.__slots__))))


@dataclass(frozen=True)
class Workspace:
    """A clone of an agent's, a folder that is not its own, and what a payload leaves there."""

    folder: Path
    outside: Path

    @property
    def canary(self) -> Path:
        return self.outside / "canary"

    @property
    def payload(self) -> str:
        """A shell command."""
        return f"touch {self.canary}"

    def write(self, name: str, text: str) -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def script(self, name: str, then: str = "cat") -> Path:
        path = self.write(name, f"#!/bin/sh\n{self.payload}\n{then}\n")
        path.chmod(0o755)
        return path

    def git(self, *words: str, given: str = "", check: bool = True) -> str:
        """As somebody would who trusts it."""
        who = ["-c", "user.name=a", "-c", "user.email=a@localhost", "-c", "safe.directory=*"]
        ended = subprocess.run(
            ["git", *who, *words],
            cwd=self.folder,
            input=given,
            capture_output=True,
            text=True,
            timeout=60,
            check=check,
        )
        return ended.stdout.strip()

    def commit(self) -> str:
        self.git("add", "-A")
        self.git("commit", "-qm", "x", "--no-verify", "--allow-empty")
        return self.git("rev-parse", "HEAD")


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    made = Workspace(tmp_path / "workspace", tmp_path / "outside")
    made.folder.mkdir()
    made.outside.mkdir()
    made.git("init", "-q", "-b", "main")
    made.write("policy.py", POLICY)
    made.commit()
    return made


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    made = Repository(tmp_path / "repository")
    made.create()
    return made


@dataclass(frozen=True)
class Plant:
    """What is planted, and what somebody does who trusts the workspace: the control."""

    name: str
    plant: Callable[[Workspace], object]
    trust: Callable[[Workspace], object]

    def __str__(self) -> str:
        return self.name


def config(name: str, value: str = "") -> Callable[[Workspace], object]:
    """Plant a setting; by default a script that lies in the workspace."""
    return lambda w: w.git("config", name, value.format(w) or str(w.script(".git/planted")))


def smudge(w: Workspace) -> None:
    w.git("config", "filter.x.smudge", str(w.script(".git/planted")))
    w.write(".gitattributes", "*.py filter=x\n")
    w.commit()
    (w.folder / "policy.py").unlink()


def textconv(w: Workspace) -> None:
    w.git("config", "diff.x.textconv", str(w.script(".git/planted")))
    w.write(".gitattributes", "*.py diff=x\n")
    w.commit()


def nested(w: Workspace) -> None:
    subprocess.run(["git", "init", "-q", str(w.folder / "sub")], check=True)
    script = w.script(".git/planted")
    subprocess.run(["git", "config", "core.fsmonitor", script], cwd=w.folder / "sub", check=True)
    w.write(".gitignore", "sub\n")
    w.commit()


def included(w: Workspace) -> None:
    w.write("settings", f"[core]\n\tfsmonitor = {w.script('.git/planted')}\n")
    w.git("config", "include.path", str(w.folder / "settings"))


def python(w: Workspace, *words: str, **environment: str) -> None:
    subprocess.run(
        [sys.executable, *words],
        cwd=w.folder,
        env=os.environ | environment,
        capture_output=True,
        timeout=60,
        check=False,
    )


def module(name: str) -> Callable[[Workspace], object]:
    def plant(w: Workspace) -> None:
        w.write(name, f"import os\nos.system({w.payload!r})\n")
        w.commit()

    return plant


def environment(w: Workspace) -> None:
    """One that a Python which is started by its link takes for its own."""
    (w.folder / "bin").mkdir()
    (w.folder / "bin" / "python").symlink_to(os.path.realpath(sys.executable))
    w.write("pyvenv.cfg", f"home = {Path(os.path.realpath(sys.executable)).parent}\n")
    packages = f"lib/python{sys.version_info[0]}.{sys.version_info[1]}/site-packages"
    w.write(f"{packages}/x.pth", f"import os; os.system({w.payload!r})\n")
    w.write(".gitignore", "bin\n")
    w.commit()


PLANTS = (
    Plant(
        "a-hook",
        lambda w: w.script(".git/hooks/reference-transaction"),
        lambda w: w.git("branch", "other"),
    ),
    Plant(
        "hooks-elsewhere",
        lambda w: (w.script("h/post-checkout"), w.git("config", "core.hooksPath", "h")),
        lambda w: w.git("checkout", "-q", "-b", "other"),
    ),
    Plant("a-file-system-monitor", config("core.fsmonitor"), lambda w: w.git("status")),
    Plant("settings-of-settings", included, lambda w: w.git("status")),
    Plant("a-filter", smudge, lambda w: w.git("checkout", "policy.py", check=False)),
    Plant("a-text-conversion", textconv, lambda w: w.git("log", "-p")),
    Plant(
        "an-alias",
        config("alias.look", "!{0.payload}"),
        lambda w: w.git("look"),
    ),
    Plant(
        "a-remote-that-is-a-command",
        lambda w: (
            w.git("config", "protocol.ext.allow", "always"),
            w.git("config", "remote.origin.url", f"ext::{w.script('.git/planted', 'exit 1')}"),
        ),
        lambda w: w.git("fetch", "origin", check=False),
    ),
    Plant(
        "a-command-to-connect-by",
        lambda w: (
            w.git("config", "core.sshCommand", str(w.script(".git/planted", "exit 1"))),
            w.git("config", "remote.origin.url", "ssh://localhost/x"),
        ),
        lambda w: w.git("fetch", "origin", check=False),
    ),
    Plant(
        "a-nested-repository",
        nested,
        lambda w: subprocess.run(["git", "-C", str(w.folder / "sub"), "status"], check=True),
    ),
    Plant(
        "sitecustomize",
        module("sitecustomize.py"),
        lambda w: python(w, "-c", "pass", PYTHONPATH=str(w.folder)),
    ),
    Plant(
        "usercustomize",
        module("usercustomize.py"),
        lambda w: python(w, "-c", "import usercustomize"),
    ),
    Plant(
        "conftest",
        module("conftest.py"),
        lambda w: python(w, "-m", "pytest", "-q", ".", PYTEST_DISABLE_PLUGIN_AUTOLOAD="1"),
    ),
    Plant("a-module-of-the-library", module("json.py"), lambda w: python(w, "-c", "import json")),
    Plant("the-package-s-name", module("enpire.py"), lambda w: python(w, "-c", "import enpire")),
    Plant(
        "pyvenv-cfg-and-pth",
        environment,
        lambda w: subprocess.run([str(w.folder / "bin/python"), "-c", "pass"], check=True),
    ),
)


@pytest.mark.parametrize("plant", PLANTS, ids=str)
def test_what_is_planted_does_not_run_in_the_harness(
    plant: Plant, workspace: Workspace, repository: Repository
) -> None:
    plant.plant(workspace)
    plant.trust(workspace)
    assert workspace.canary.exists(), "the control came to nothing"
    workspace.git("checkout", "-q", "main", check=False)
    workspace.canary.unlink(missing_ok=True)
    commit = (workspace.folder / ".git/refs/heads/main").read_text().strip()
    hand_over(workspace.folder)
    # All that is done with a workspace, from its commit to a policy that acts.
    assert repository.fetch(workspace.folder, "one") == commit
    policy = ProgramPolicy.of(repository.files(commit), "reach", 2, 7, commit)
    assert policy.files["policy.py"] == POLICY.encode()
    process = PolicyProcess(policy.files, 2, 7)
    process.begin(0, np.random.default_rng(0), 0.0)
    actions = process.act(np.array([0]), np.zeros((1, 2), np.float32), SENSED)
    process.close()
    assert actions.shape == (1, 7)
    assert not workspace.canary.exists()


def private(w: Workspace) -> tuple[Path, str]:
    """A repository that is not the agent's, and the commit in it."""
    folder = w.outside / "private"
    other = Workspace(folder, w.outside)
    folder.mkdir()
    other.git("init", "-q", "-b", "main")
    other.write("policy.py", "# the sealed seeds are 4711\n")
    return folder, other.commit()


class TestWhatIsFetched:
    """Commits come out as they are, and only the agent's own."""

    def test_link_to_a_repository_elsewhere(
        self, workspace: Workspace, repository: Repository
    ) -> None:
        folder, commit = private(workspace)
        subprocess.run(["rm", "-rf", str(workspace.folder / ".git")], check=True)
        workspace.write(".git", f"gitdir: {folder}/.git\n")
        assert workspace.git("rev-parse", "main") == commit
        with pytest.raises(FetchError, match="not a git repository"):
            repository.fetch(workspace.folder, "one")

    def test_objects_of_a_repository_elsewhere(
        self, workspace: Workspace, repository: Repository
    ) -> None:
        folder, commit = private(workspace)
        workspace.write(".git/objects/info/alternates", f"{folder}/.git/objects\n")
        workspace.git("update-ref", "refs/heads/main", commit)
        assert "4711" in workspace.git("show", "main:policy.py")
        hand_over(workspace.folder)
        with pytest.raises(FetchError):
            repository.fetch(workspace.folder, "one")

    def test_branch_that_is_an_option(self, workspace: Workspace, repository: Repository) -> None:
        option = f"--upload-pack={workspace.payload};git-upload-pack"
        workspace.git("fetch", option, ".", "main", check=False)
        assert workspace.canary.exists(), "the control came to nothing"
        with pytest.raises(FetchError, match="not the name"):
            repository.fetch(workspace.folder, "one", option)

    def test_link_in_a_commit(self, workspace: Workspace, repository: Repository) -> None:
        (workspace.outside / "secret").write_text("4711")
        (workspace.folder / "seeds").symlink_to(workspace.outside / "secret")
        commit = workspace.commit()
        assert (workspace.folder / "seeds").read_text() == "4711"
        hand_over(workspace.folder)
        repository.fetch(workspace.folder, "one")
        with pytest.raises(FetchError, match="'seeds' is a link"):
            repository.files(commit)

    def test_repository_in_a_commit(self, workspace: Workspace, repository: Repository) -> None:
        head = workspace.git("rev-parse", "HEAD")
        workspace.git("update-index", "--add", "--cacheinfo", f"160000,{head},sub")
        workspace.git("commit", "-qm", "sub")
        hand_over(workspace.folder)
        commit = repository.fetch(workspace.folder, "one")
        with pytest.raises(FetchError, match="'sub' is a link or a repository"):
            repository.files(commit)

    def test_tree_that_leads_out(self, workspace: Workspace, repository: Repository) -> None:
        blob = workspace.git("hash-object", "-w", "--stdin", given="planted")
        entry = b"100644 ..\0" + bytes.fromhex(blob)
        path = workspace.folder / "tree"
        path.write_bytes(entry)
        tree = workspace.git("hash-object", "-t", "tree", "--literally", "-w", str(path))
        commit = workspace.git("commit-tree", tree, "-m", "out")
        workspace.git("update-ref", "refs/heads/main", commit)
        assert ".." in workspace.git("ls-tree", "main")  # the workspace's own git has it
        hand_over(workspace.folder)
        with pytest.raises(FetchError):
            repository.fetch(workspace.folder, "one")

    def test_attributes_that_hide_a_file(
        self, workspace: Workspace, repository: Repository
    ) -> None:
        workspace.write("cheat.py", "peek()\n")
        workspace.write(".gitattributes", "cheat.py export-ignore\n*.py export-subst ident\n")
        commit = workspace.commit()
        archived = workspace.git("archive", "--format=tar", "main")
        assert "peek" not in archived
        hand_over(workspace.folder)
        repository.fetch(workspace.folder, "one")
        assert repository.files(commit)["cheat.py"] == b"peek()\n"

    def test_commit_shown_in_another_s_place(
        self, workspace: Workspace, repository: Repository
    ) -> None:
        first = workspace.git("rev-parse", "HEAD")
        workspace.write("policy.py", "peek()\n")
        second = workspace.commit()
        workspace.git("replace", second, first)
        assert workspace.git("show", f"{second}:policy.py") == POLICY.strip()
        hand_over(workspace.folder)
        assert repository.fetch(workspace.folder, "one") == second
        assert repository.files(second)["policy.py"] == b"peek()\n"

    def test_history_rewritten_after_it_was_fetched(
        self, workspace: Workspace, repository: Repository
    ) -> None:
        hand_over(workspace.folder)
        first = repository.fetch(workspace.folder, "one")
        workspace.write("policy.py", "better()\n")
        workspace.git("add", "-A")
        workspace.git("commit", "-q", "--amend", "-m", "as if it had always been so")
        workspace.git("reflog", "expire", "--expire=now", "--all")
        workspace.git("gc", "-q", "--prune=now")
        assert workspace.git("cat-file", "-t", first, check=False) == ""
        hand_over(workspace.folder)
        assert repository.fetch(workspace.folder, "one") != first
        assert repository.files(first)["policy.py"] == POLICY.encode()

    def test_one_agent_in_another_s_name(
        self, workspace: Workspace, repository: Repository
    ) -> None:
        hand_over(workspace.folder)
        assert repository.fetch(workspace.folder, "one")
        with pytest.raises(FetchError, match="not the name of an agent"):
            repository.fetch(workspace.folder, "../../heads/main")

    def test_more_than_is_taken(
        self, workspace: Workspace, repository: Repository, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        workspace.write("zeros", "0" * 2_000_000)  # packs to nearly nothing
        commit = workspace.commit()
        hand_over(workspace.folder)
        repository.fetch(workspace.folder, "one")
        assert len(repository.files(commit)["zeros"]) == 2_000_000
        monkeypatch.setattr(git_fetch, "MOST_BYTES", 1_000_000)
        with pytest.raises(FetchError, match="more than"):
            repository.files(commit)
        monkeypatch.setattr(git_fetch, "MOST_BUNDLE", 100)
        workspace.commit()
        hand_over(workspace.folder)
        with pytest.raises(FetchError, match="to take in"):
            repository.fetch(workspace.folder, "one")

    @pytest.mark.parametrize("name", ["../x", "/x", "a/../../x", ".git/hooks/x", "a//b", "./a"])
    def test_name_that_leads_out(self, name: str) -> None:
        files = {"policy.py": b"", "a/b.py": b""}
        assert ProgramPolicy.of(files, "reach", 2, 7, "c").files == files
        with pytest.raises(PolicyError, match="cannot be called"):
            ProgramPolicy.of(files | {name: b""}, "reach", 2, 7, "c")


class TestWhatIsRead:
    """A notebook or a table that an agent leaves is read as that file, or not at all."""

    def control(self, workspace: Workspace) -> None:
        workspace.write("notes/one.md", "noted")
        assert read_inside(workspace.folder, "notes/one.md") == b"noted"

    @pytest.mark.parametrize("name", ["link", "folder/secret", "../outside/secret"])
    def test_link_to_what_is_not_the_agents(self, workspace: Workspace, name: str) -> None:
        self.control(workspace)
        (workspace.outside / "secret").write_text("4711")
        (workspace.folder / "link").symlink_to(workspace.outside / "secret")
        (workspace.folder / "folder").symlink_to(workspace.outside)
        assert (workspace.folder / name).read_text() == "4711"
        with pytest.raises(ReadError):
            read_inside(workspace.folder, name)

    def test_pipe_that_nobody_writes_to(self, workspace: Workspace) -> None:
        self.control(workspace)
        os.mkfifo(workspace.folder / "notes/two.md")
        with pytest.raises(ReadError, match="no plain file"):
            read_inside(workspace.folder, "notes/two.md")

    def test_file_without_an_end(self, workspace: Workspace) -> None:
        self.control(workspace)
        with (workspace.folder / "notes/two.md").open("wb") as file:
            file.truncate(2**40)
        with pytest.raises(ReadError, match="has more than 1000 bytes"):
            read_inside(workspace.folder, "notes/two.md", most=1000)
