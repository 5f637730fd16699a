"""A drafting session: an agent writes a task's pack; the harness certifies it and takes it out.

drafts/NAME/
  draft.json     what is asked for, and what came of it
  output.txt     what the agent's program printed
  looks/         the pictures that it was shown
  work/          its workspace
    NAME/        the pack, which it edits
"""

from __future__ import annotations

import json
import os
import shutil
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Self

import tomli_w

from enpire.errors import CampaignError, EnpireError, UsageError
from enpire.evolution.agents.program import AgentProgram
from enpire.evolution.agents.programs import OUTPUT, UNLIMITED, wrong
from enpire.evolution.agents.tools import EpisodePictures
from enpire.evolution.agents.workplace import Workplace
from enpire.evolution.drafting.certification import certify, check, picture, pictured
from enpire.evolution.drafting.extraction import DraftError, ExtractedFiles, digest, extract, write
from enpire.evolution.drafting.sandboxed_commands import DraftBench, environment, own_packs
from enpire.evolution.drafting.tools import DraftTools
from enpire.evolution.experiments.budget import Ceilings, budget_left
from enpire.evolution.experiments.events import ModelUse
from enpire.json_text import loads
from enpire.model_gateway.usage import Allowance, Usage
from enpire.packs.finder import DRAFTED
from enpire.real_path import real_path
from enpire.sandbox.bubblewrap import harness, python
from enpire.sandbox.sandbox import CommandResult, SandboxProcess
from enpire.sandbox.sanitize import one_line, quoted
from enpire.version import __version__

METHOD = Path(__file__).with_name("drafting.md")
WORK, LOOKS, STATE = "work", "looks", "draft.json"
LOOK_S = 0.2  # between looks whether it is to end
FAREWELL_S = 60.0  # that a program has to end once `done` has taken the pack
MOST_LOOKS = 200
SHOWN = 20  # files left behind that an answer names
SAID = 300  # characters of what went wrong, for a person


@dataclass(frozen=True, slots=True)
class DraftRequest:
    """What a draft is to be. sentence: the person's own. began: `digest` of the template."""

    name: str
    sentence: str
    robot: str
    agent: str
    began: str

    @classmethod
    def read(cls, folder: Path) -> DraftRequest:
        """Read the request of an earlier session.

        Raises:
            UsageError: the folder is no draft.
        """
        try:
            said = loads((folder / STATE).read_text(encoding="utf-8"))["asked"]
            return cls(**{name: str(said[name]) for name in cls.__dataclass_fields__})
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise UsageError(f"{folder} is no draft: it has no {STATE}") from error

    @property
    def mark(self) -> bytes:
        """`drafted.toml`: that an agent made it, and of what."""
        said = {"agent": self.agent, "asked": self.sentence, "enpire": __version__}
        return tomli_w.dumps(said).encode()


class Drafting:
    """One session; a `with` block ends all that it has started."""

    def __init__(
        self,
        request: DraftRequest,
        program: AgentProgram,
        folder: Path,
        ceilings: Ceilings,
        within_s: float,
        say: Callable[[str], None] = print,
        bench: DraftBench | None = None,
    ) -> None:
        """folder: of the draft; its workspace holds the pack that the agent begins with.

        within_s: that the agent may work [s]; certification comes after. say: is told, a line at a
        time, what happens.
        """
        self.asked, self.folder = request, real_path(folder)
        self.workspace = self.folder / WORK
        self._program = program
        self._ceilings, self._say = ceilings, say
        self._until = time.monotonic() + within_s
        self._allowance = Allowance(int(min(ceilings.tokens, UNLIMITED)))
        self._spent = ModelUse()
        self._lock = threading.Lock()  # of what follows: tools are called on threads of their own
        self._passed: dict[str, bytes] | None = None  # what the last whole check that passed was of
        self._done = threading.Event()
        self._looks = self._checks = 0
        self.reason = ""  # why there is no pack, by the last certification
        self._bench = bench or DraftBench()

    def run(self, tasks: Path) -> Path | None:
        """Go on until there is a certified pack in the folder `tasks`, or no more to be had.

        Returns where it is; None: `reason` says why there is none.
        """
        try:
            with ExitStack() as opened:
                place = opened.enter_context(self._moved_in())
                for _ in range(self._program.starts):
                    self._work(place)
                    where = self._certified(tasks)
                    if where is not None or self.budget_ended:
                        return where
            return None
        finally:
            self._keep()

    @property
    def budget_ended(self) -> str:
        """The budget that is used up; empty for none."""
        if time.monotonic() >= self._until:
            return "--max-time is used up"
        return self._ceilings.used_up(self._spent) or ""

    @property
    def used(self) -> str:
        """Tokens and dollars, for a person."""
        return f"{self._spent.tokens} tokens, {self._spent.dollars:.2f} dollars"

    # What tools do

    def brief(self) -> str:
        """See `DraftTools.task_brief`."""
        name = self.asked.name
        left = {
            "minutes": max(self._until - time.monotonic(), 0.0) / 60,
            "tokens": self._ceilings.tokens - self._spent.tokens,
            "dollars": self._ceilings.dollars - self._spent.dollars,
        }
        lines = [
            "A person asks for a task. In their words:",
            quoted(self.asked.sentence, 2000),
            f"The pack is the folder {name} of your workspace, {self.workspace / name}: edit it "
            f"there. It is for the robot {self.asked.robot} and begins as a copy of another task.",
            f"Packs that came with the harness, to read: {', '.join(map(str, harness()[1:]))}. "
            f"The package: {harness()[0]}.",
            f"{python()} -m enpire.cli task check ./{name} --checks demonstrator --seeds 5 is a "
            "quick look of your own; the tool `check` is the one that counts.",
            budget_left(left),
        ]
        if self.reason:
            lines += ["What came of it before:", quoted(self.reason, 4000)]
        return "\n".join(lines)

    def check(self, words: list[str]) -> str:
        """See `DraftTools.check`; words: options of `enpire task check`."""
        found = self._extracted()
        files = self._marked(found)
        came = check(self._bench, self.asked.name, files, words)
        whole = not words
        with self._lock:
            self._checks += 1
            number = self._checks
            if whole and came.passed:
                self._passed = files
        said = "passed" if came.passed else "misses a bar, or does not run"
        self._say(f"check {number}{'' if whole else ' (in part)'}: {said}")
        left = "".join(f"\nLeft behind: {each}" for each in found.left[:SHOWN])
        end = "It passes: look at it, then call done." if whole and came.passed else said
        return f"{came.text}{left}\n{end}"

    def look(self, words: list[str]) -> EpisodePictures:
        """See `DraftTools.look`; words: options of `enpire render`."""
        with self._lock:
            self._looks += 1
            if self._looks > MOST_LOOKS:
                raise CampaignError(f"you have looked {MOST_LOOKS} times: work by `check`")
            path = self.folder / LOOKS / f"{self._looks:03d}.png"
        png = picture(self._bench, self.asked.name, self._marked(self._extracted()), words)
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(png)
        return EpisodePictures("The scene, drawn by the draft's own code.", (path,))

    def done(self) -> str:
        """See `DraftTools.done`."""
        found = self._extracted()
        self._require_another(found)
        files = self._marked(found)
        with self._lock:
            if self._passed is None:
                raise CampaignError("no whole check has passed yet: call check, without arguments")
            if self._passed != files:
                raise CampaignError("the pack has changed since its check has passed: check again")
        self._done.set()
        return "Taken: the harness certifies it now. End here; if it misses a bar you are told."

    # The session

    def _moved_in(self) -> Workplace:
        docs = harness()[0].parent / "docs"
        return Workplace(
            self._program,
            self.workspace,
            DraftTools(self.brief, self.check, self.look, self.done),
            self._allowance,
            self._use,
            readable=(*own_packs(), *((docs,) if docs.is_dir() else ())),
            environment=environment() | {"PYTHON": python()},
        )

    def _work(self, place: Workplace) -> None:
        """One start of the program, to its end, or a budget's."""
        self._done.clear()
        prompt = self._program.told(METHOD.read_text(encoding="utf-8"), self.brief())
        ends: list[CommandResult | EnpireError] = []
        with place.start() as process:
            worker = threading.Thread(target=_talk, args=(process, prompt, ends), daemon=True)
            worker.start()
            until = self._until
            while worker.is_alive() and time.monotonic() < until and not self.budget_ended:
                worker.join(LOOK_S)
                if self._done.is_set():
                    until = min(until, time.monotonic() + FAREWELL_S)
            stopped = worker.is_alive()
        worker.join()
        ended = ends[0] if ends else CampaignError("nobody knows how its program ended")
        if isinstance(ended, CommandResult):
            with (self.folder / OUTPUT).open("ab") as kept:
                kept.write(ended.out)
        self.reason = "" if stopped else one_line(wrong(ended), SAID)
        if self.budget_ended or self.reason:
            self._say(self.budget_ended or self.reason)

    def _certified(self, tasks: Path) -> Path | None:
        """Check and certify the pack as it is now, and take it out; None, and why not."""
        name = self.asked.name
        try:
            found = self._extracted()
            self._require_another(found)
            files = self._marked(found)
            if self._passed != files:
                came = check(self._bench, name, files, [])
                if not came.passed:
                    raise DraftError(f"it does not pass its check:\n{came.text}")
            self._say("certifying")
            whole = certify(self._bench, name, pictured(self._bench, name, files))
            return published(whole, tasks / name)
        except DraftError as error:
            self.reason = "\n".join(filter(None, (self.reason, str(error))))
            self._say(one_line(str(error), SAID))
            return None

    def _require_another(self, files: ExtractedFiles) -> None:
        if digest(files.files) == self.asked.began:
            raise DraftError("it still is the task that it was made from: nothing was drafted")

    def _extracted(self) -> ExtractedFiles:
        return extract(self.workspace, self.asked.name)

    def _marked(self, files: ExtractedFiles) -> dict[str, bytes]:
        return files.files | {DRAFTED: self.asked.mark}

    def _use(self, usage: Usage) -> None:
        used = ModelUse(usage.tokens or 0, self._program.prices.dollars(usage))
        with self._lock:
            self._spent += used

    def _keep(self) -> None:
        """Write what came of it."""
        said = {
            "asked": asdict(self.asked),
            "checks": self._checks,
            "tokens": self._spent.tokens,
            "dollars": self._spent.dollars,
            "reason": self.reason,
        }
        (self.folder / STATE).write_text(json.dumps(said, indent=1) + "\n", encoding="utf-8")

    def __enter__(self) -> Self:
        self._keep()
        return self

    def __exit__(self, *_: object) -> None:
        self._bench.close()


def published(files: dict[str, bytes], folder: Path) -> Path:
    """Make the pack `folder` of these files: all of them are there, or none.

    Raises:
        DraftError: something is there already.
    """
    if folder.exists():
        raise DraftError(f"{folder} is there already: it stays as it is")
    new = folder.with_name(f".{folder.name}.new")
    shutil.rmtree(new, ignore_errors=True)
    write(files, new)
    os.replace(new, folder)
    return folder


def _talk(process: SandboxProcess, prompt: str, ends: list[CommandResult | EnpireError]) -> None:
    try:
        ends.append(process.communicate(prompt.encode()))
    except EnpireError as error:
        ends.append(error)
