"""Runs the command line on a draft, each time in a sandbox of its own.

A pack's code is its agent's: it never runs in the harness's process, nor twice in one sandbox. What
such a run says, its exit code too, is said by a process in which that code has run.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path

from enpire.closing import Closing
from enpire.evolution.drafting.extraction import DraftError, write
from enpire.packs.signing import ANSWERED
from enpire.sandbox.bubblewrap import hand_over, harness, python
from enpire.sandbox.limits import GIB, MIB, SandboxLimits
from enpire.sandbox.safe_read import ReadError, read_inside
from enpire.sandbox.sandbox import CommandResult, Sandbox, SandboxProcess

LIMITS = SandboxLimits(
    memory=4 * GIB,
    file_size=64 * MIB,
    disk=256 * MIB,
    entries=2000,
    scratch=256 * MIB,
    output=256 * 1024,
)
CACHE = ".cache"  # of a run's home, where compilers keep what they made
WARMING = ["task", "check", "{pack}", "--checks", "demonstrator", "--seeds", "1"]
WARMING_S = 300.0
OWN = ("robots", "sim")  # packs of the user's that a draft may be for


@dataclass(frozen=True, slots=True)
class DraftTrial:
    """ended: how. made: the files that were asked for, as far as they are there."""

    ended: CommandResult
    made: Mapping[str, bytes]


class DraftBench(Closing):
    """A bench where drafts are tried, one at a time; a `with` block ends what is under way.

    The harness's kernels are compiled once, by a run of a pack that is `trusted`; each run of a
    draft gets a copy of that machine code, and what it makes of it goes with the run.
    """

    def __init__(
        self, limits: SandboxLimits = LIMITS, trusted: Mapping[str, bytes] | None = None
    ) -> None:
        """limits: of each run; how long it may take is said with it. trusted: none, every run
        compiles for itself."""
        self._limits = limits
        self._trusted = trusted
        self._compiled: tempfile.TemporaryDirectory[str] | None = None
        self._turn = threading.Lock()
        self._closing = threading.Lock()
        self._closed = False
        self._under_way: SandboxProcess | None = None

    def run(
        self,
        name: str,
        files: Mapping[str, bytes],
        words: Sequence[str],
        most_s: float,
        made: Sequence[str] = (),
    ) -> DraftTrial:
        """`enpire WORDS`, with {pack} filled in, where these files are the pack called `name`.

        made: files that it is to leave in its working folder. most_s: on the clock [s].

        Raises:
            SandboxError: there can be no sandbox.
            DraftError: the bench is closed.
        """
        with self._turn:
            if self._trusted is not None and self._compiled is None:
                self._compiled = tempfile.TemporaryDirectory(prefix="enpire-compiled-")
                with _laid_out("trusted", self._trusted) as (pack, out):
                    self._run(pack, out, WARMING, WARMING_S)
                    _copied(out / CACHE, self._compiled.name)
            with _laid_out(name, files) as (pack, out):
                if self._compiled is not None:
                    _copied(Path(self._compiled.name), out / CACHE)
                    hand_over(out)
                ended = self._run(pack, out, words, most_s)
                found: dict[str, bytes] = {}
                for each in made:
                    with suppress(ReadError):
                        found[each] = read_inside(out, each)
                return DraftTrial(ended, found)

    def _run(self, pack: Path, out: Path, words: Sequence[str], most_s: float) -> CommandResult:
        limits = replace(self._limits, wall_s=most_s, cpu_s=(os.cpu_count() or 1) * most_s)
        sandbox = Sandbox(
            limits=limits,
            readable=(*harness(), *own_packs(), pack.parent),
            writable=(out,),
            environment=environment(),
        )
        said = [word.replace("{pack}", str(pack)) for word in words]
        with self._closing:
            if self._closed:
                raise DraftError("the session has ended")
            self._under_way = sandbox.start([python(), "-P", "-m", "enpire.cli", *said])
        with self._under_way as process:
            ended = process.communicate()
        self._under_way = None
        return ended

    def close(self) -> None:
        """End what is under way; nothing is tried any more."""
        with self._closing:
            self._closed = True
            if self._under_way is not None:
                self._under_way.end()
        with self._turn:
            if self._compiled is not None:
                self._compiled.cleanup()


def environment() -> dict[str, str]:
    """The environment of whatever runs a draft, behind walls."""
    given = {
        "PYTHONPATH": str(Path(__file__).resolve().parents[3]),
        "PYTHONDONTWRITEBYTECODE": "1",
        ANSWERED: "1",
    }
    if own_packs():
        given["ENPIRE_PACKS"] = str(Path.cwd())
    if "MUJOCO_GL" in os.environ:
        given["MUJOCO_GL"] = os.environ["MUJOCO_GL"]
    return given


def own_packs() -> tuple[Path, ...]:
    """The user's robots and worlds, in the working folder."""
    return tuple(folder for kind in OWN if (folder := Path.cwd() / kind).is_dir())


def _copied(source: Path, target: Path | str) -> None:
    if source.is_dir():
        shutil.copytree(source, target, dirs_exist_ok=True)


@contextmanager
def _laid_out(name: str, files: Mapping[str, bytes]) -> Iterator[tuple[Path, Path]]:
    """A pack's folder, and one to write to, for a while."""
    with tempfile.TemporaryDirectory(prefix="enpire-draft-") as made:
        pack, out = Path(made).resolve() / "tasks" / name, Path(made).resolve() / "out"
        write(files, pack)
        out.mkdir()
        hand_over(out)
        yield pack, out
