"""Takes an agent's commits out of its workspace, without trusting anything in there.

What a workspace's git would do is up to its hooks, configuration and attributes, and the agent has
written all of them. So git is run there in one sandbox only: it sees the workspace read-only and
nothing else, and what it prints, a bundle, is all that comes out. A second sandbox, which sees the
harness's own bare repository and no workspace, checks every object of it, takes them in, and keeps
the commit under a name of its own for ever. Nothing is checked out: files are read as bytes.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from enpire.errors import EnpireError
from enpire.sandbox.bubblewrap import hand_over
from enpire.sandbox.limits import GIB, MIB, MOST_BYTES, MOST_FILES, SandboxLimits
from enpire.sandbox.sandbox import CommandResult, Confinement, Sandbox

MOST_BUNDLE = 512 * MIB
USE = SandboxLimits(
    memory=4 * GIB, processes=64, scratch=GIB, disk=16 * GIB, cpu_s=300, wall_s=300, output=16 * MIB
)
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
BRANCH = re.compile(r"[A-Za-z0-9][A-Za-z0-9_./-]{0,199}")
COMMIT = re.compile(r"[0-9a-f]{40}")

ENVIRONMENT = {
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_OPTIONAL_LOCKS": "0",
}
# By the command line, which counts over what a repository's own configuration says.
SETTINGS = {
    "safe.directory": "*",
    "core.hooksPath": "/dev/null",
    "core.fsmonitor": "false",
    "core.attributesFile": "/dev/null",
    "core.pager": "cat",
    "protocol.allow": "never",
    "protocol.file.allow": "always",
    "submodule.recurse": "false",
    "gc.auto": "0",
    "maintenance.auto": "false",
}
GIT = ["git", *(word for key, value in SETTINGS.items() for word in ("-c", f"{key}={value}"))]


class FetchError(EnpireError):
    """A workspace has no such commit, or what it has is not taken in."""


@dataclass(frozen=True, slots=True)
class Repository:
    """The harness's own, bare: every commit that was ever fetched, by agent."""

    folder: Path
    confinement: Confinement = Confinement.BUBBLEWRAP

    def create(self) -> None:
        """Make it; nothing happens where it is already."""
        if (self.folder / "HEAD").is_file():
            return
        self.folder.mkdir(parents=True, exist_ok=True)
        hand_over(self.folder)
        self._git("cannot make the repository", ["init", "--quiet", "--bare", "."], write=True)

    def fetch(self, workspace: Path, agent: str, branch: str = "main") -> str:
        """Take in what a branch of the clone in `workspace` is at; returns the commit.

        It stays here as `refs/agents/AGENT/COMMIT`, whatever becomes of the branch.

        Raises:
            FetchError: the names are odd, there is no such branch, or git refuses it.
        """
        if not NAME.fullmatch(agent) or not BRANCH.fullmatch(branch) or ".." in branch:
            raise FetchError(f"not the name of an agent and of a branch: {agent!r}, {branch!r}")
        source, why = f"refs/heads/{branch}", f"{workspace}: {branch} is not taken in"
        known = self._git(why, ["for-each-ref", "--format=%(objectname)", "refs/agents"])
        named = self._ask(workspace, ["rev-parse", "--verify", f"{source}^{{commit}}"])
        commit = named.decode(errors="replace").strip()
        if commit not in known.decode().split():
            head, _, pack = self._bundle(workspace, source, known).partition(b"\n\n")
            commit = _commit(head, source)
            self._git(why, ["index-pack", "--stdin", "--fix-thin", "--strict"], True, pack)
            self._git(why, ["rev-list", "--objects", "--quiet", commit])  # it is all there
        # Names are the harness's own: what the workspace says is a commit, or nothing.
        target = f"refs/agents/{agent}/{commit}"
        self._git(why, ["update-ref", target, f"{commit}^{{commit}}"], write=True)
        return commit

    def files(self, commit: str) -> dict[str, bytes]:
        """A commit's files by path, as they were committed: no filter, no attribute is applied.

        Raises:
            FetchError: there is no such commit, or it has links, submodules or too much.
        """
        if not COMMIT.fullmatch(commit):
            raise FetchError(f"not a commit: {commit!r}")
        words = ["ls-tree", "-r", "-z", "-l", "--full-tree", commit]
        listed = self._git(f"no commit {commit}", words).split(b"\0")[:-1]
        found: dict[str, str] = {}
        total = 0
        for line in listed:
            about, _, name = line.partition(b"\t")
            mode, kind, object_, size = about.decode().split()
            if kind != "blob" or mode not in ("100644", "100755"):
                raise FetchError(
                    f"{commit}: {name.decode(errors='replace')!r} is a link or a repository of its "
                    "own: commit plain files"
                )
            found[name.decode(errors="surrogateescape")] = object_
            total += int(size)
        if len(found) > MOST_FILES or total > MOST_BYTES:
            raise FetchError(f"{commit}: more than {MOST_FILES} files or {MOST_BYTES // MIB} MiB")
        asked = "".join(f"{object_}\n" for object_ in found.values()).encode()
        answered = self._git(
            f"cannot read {commit}", ["cat-file", "--batch"], given=asked, most=2 * MOST_BYTES
        )
        return dict(zip(found, _blobs(answered, list(found.values())), strict=True))

    def _bundle(self, workspace: Path, source: str, known: bytes) -> bytes:
        """What a branch has over what is known, as a bundle of git's."""
        wanted = b"".join([source.encode() + b"\n", *(b"^%s\n" % k for k in known.split())])
        words = ["bundle", "create", "--quiet", "-", "--ignore-missing", "--stdin"]
        found = self._ask(workspace, words, wanted, MOST_BUNDLE + 1)
        if len(found) > MOST_BUNDLE:
            raise FetchError(f"{workspace}: more than {MOST_BUNDLE // MIB} MiB to take in")
        return found

    def _ask(
        self, workspace: Path, words: Sequence[str], given: bytes = b"", most: int = USE.output
    ) -> bytes:
        """What a workspace's git prints, where it can do no harm."""
        sandbox = self._sandbox(most, readable=(workspace,))
        git = [*GIT, f"--git-dir={workspace.resolve() / '.git'}"]
        ended = sandbox.run([*git, *words], Path("/tmp"), given)
        _require(ended, f"{workspace}: no such branch")
        return ended.out

    def _git(
        self,
        why: str,
        words: Sequence[str],
        write: bool = False,
        given: bytes = b"",
        most: int = USE.output,
    ) -> bytes:
        """What git prints of this repository; FetchError, which begins with `why`, if it fails."""
        mine = (self.folder,)
        sandbox = self._sandbox(most, () if write else mine, mine if write else ())
        ended = sandbox.run([*GIT, *words], self.folder, given)
        _require(ended, why)
        return ended.out

    def _sandbox(
        self, most: int, readable: tuple[Path, ...], writable: tuple[Path, ...] = ()
    ) -> Sandbox:
        """One that keeps so much of what git prints."""
        limits, how = replace(USE, output=most), self.confinement
        return Sandbox(limits, readable, writable, environment=ENVIRONMENT, confinement=how)


def _require(ended: CommandResult, why: str) -> None:
    if ended.breach:
        raise FetchError(f"{why} (ended: {ended.breach})")
    if ended.code != 0:
        said = ended.err.decode(errors="replace").strip().splitlines()
        raise FetchError(f"{why} (git: {said[-1][:300] if said else ended.code})")


def _commit(head: bytes, source: str) -> str:
    """The commit that a bundle, by its head, brings under the name `source`."""
    for line in head.decode(errors="replace").splitlines():
        commit, _, name = line.partition(" ")
        if name == source and COMMIT.fullmatch(commit):
            return commit
    raise FetchError(f"a bundle without {source}")


def _blobs(answered: bytes, objects: Sequence[str]) -> list[bytes]:
    """What `cat-file --batch` has answered: for each object a line, its bytes, a line's end."""
    found: list[bytes] = []
    at = 0
    for object_ in objects:
        end = answered.find(b"\n", at)
        words = answered[at:end].decode(errors="replace").split()
        if end < 0 or len(words) != 3 or words[:2] != [object_, "blob"]:
            raise FetchError(f"object {object_} is not there")
        found.append(answered[end + 1 : end + 1 + int(words[2])])
        at = end + 2 + int(words[2])
    return found
