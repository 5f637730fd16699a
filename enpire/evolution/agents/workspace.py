"""An agent's workspace: a git clone of the campaign's history, the agent's own from then on.

It is made once, of the harness's repository and before anything of an agent's is there. The
repository is to be bound read-only where it is: whoever works in the clone fetches from it, `git
fetch origin`, whatever was decided since. What the agent has committed is taken out by `git_fetch`.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

from enpire.errors import CampaignError
from enpire.sandbox.git_fetch import ENVIRONMENT, GIT, Repository
from enpire.sandbox.sandbox import Confinement

COMMITS = "commits.git"  # beside a workspace: what was taken out of it

OWN = "[safe]\n\tdirectory = *\n[user]\n\tname = {name}\n\temail = {name}@localhost\n"
"""Settings of the agent's git, in its home, which is the workspace. What it fetches from belongs to
somebody else."""


def cloned(history: Path, workspace: Path, name: str) -> None:
    """Make `workspace`; as a clone of `history`, unless there is something in it, or no git.

    Raises:
        CampaignError: git refuses.
    """
    workspace.mkdir(parents=True, exist_ok=True)
    git = shutil.which(GIT[0])
    if git is None or not history.is_dir() or any(workspace.iterdir()):
        return
    words = ["clone", "--quiet", "--no-hardlinks", "--template=", str(history), str(workspace)]
    environment = {"PATH": os.environ["PATH"], "HOME": "/nonexistent"} | ENVIRONMENT
    ended = subprocess.run(
        [git, *GIT[1:], *words], env=environment, capture_output=True, text=True, check=False
    )
    if ended.returncode:
        raise CampaignError(f"{workspace} cannot be made: git: {ended.stderr.strip()[-300:]}")
    (workspace / ".git" / "info").mkdir(exist_ok=True)
    (workspace / ".git" / "info" / "exclude").write_text(".gitconfig\n", encoding="utf-8")
    (workspace / ".gitconfig").write_text(OWN.format(name=name), encoding="utf-8")


def committed(
    workspace: Path, name: str, path: str, confinement: Confinement = Confinement.BUBBLEWRAP
) -> str:
    """The text of a file in the last commit on main of an agent's workspace.

    Raises:
        FetchError: there is no such branch, or what it has is not taken in.
        CampaignError: the file is not in it, or is no text.
    """
    repository = Repository((workspace.parent / COMMITS).resolve(), confinement)
    repository.create()
    commit = repository.fetch(workspace, name)
    data = repository.files(commit).get(path)
    if data is None:
        raise CampaignError(f"{path[:80]!r} is not in {commit[:12]}, your main: commit it first")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise CampaignError(f"{path[:80]!r} of {commit[:12]} is no text: {error}") from error
