"""Coding agents' real programs in a campaign, with a replayed model at the other end.

`python -m tests.evolution.coding FOLDER KIND URL` is one in a process of its own, to be killed.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import sys
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from _pytest.mark import ParameterSet

from enpire.evolution.agents.program import AgentProgram
from enpire.evolution.agents.programs import OUTPUT, WORKSPACES, ProgramAgent, load_program
from enpire.evolution.campaign.campaign import Campaign
from enpire.evolution.experiments import unbiased_estimate
from enpire.evolution.experiments.events import USED
from enpire.packs.finder import find
from enpire.sandbox.sandbox import available
from enpire.store import Run

from .moving import FAST, MOVES, go
from .replay import Call, Fault, Heard, Replay, Script, Turn, call

PROGRAMS = {"claude_code": "claude", "codex": "codex", "gemini": "gemini"}
OURS = ("claude", "local")  # by the harness's own loop: no program that may be missing
KEYS = ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY")
HARNESS_KEY = "the key of the harness"
FILE = "recipe.py"
DECIDED = ("kept", "dropped", "failed")


def needs(kind: str) -> pytest.MarkDecorator:
    """Skips where the program is not there, or cannot be confined."""
    name = PROGRAMS[kind]
    if shutil.which(name) is None:
        return pytest.mark.skip(f"{name} is not on PATH: launch/test fetches it, given npm")
    return pytest.mark.skipif(not available().works, reason=available().reason)


def kinds(slow: str = "") -> list[ParameterSet]:
    """Each of the programs, where it is there; one of them may be slow."""
    marks = {kind: [needs(kind), *([pytest.mark.slow] * (kind == slow))] for kind in PROGRAMS}
    return [pytest.param(kind, marks=marks[kind]) for kind in PROGRAMS]


@dataclass(frozen=True, slots=True)
class Ran:
    """A campaign that has ended, and what its model was asked and told."""

    campaign: Campaign
    replay: Replay
    folder: Path
    name: str

    @property
    def workspace(self) -> Path:
        """The agent's."""
        return self.folder / WORKSPACES / self.name / "work"

    @property
    def printed(self) -> str:
        """The last of what the program printed."""
        return (self.folder / WORKSPACES / self.name / OUTPUT).read_text()

    @property
    def classes(self) -> Counter[str]:
        """Tokens that the campaign has counted, by class."""
        with Run.open(self.folder) as run:
            rows = [json.loads(row.text) for row in run.ledger.events() if row.kind == USED]
        counted: Counter[str] = Counter()
        for row in rows:
            counted.update(row["classes"])
        return counted


def ran(
    folder: Path,
    kind: str,
    script: Script,
    faults: Sequence[Fault | None] = (),
    starts: int = 1,
    beside: Callable[[Replay], None] = lambda replay: None,
) -> Ran:
    """A campaign with one such agent, to its end; `beside` runs on a thread meanwhile."""
    with Replay(script, faults) as replay:
        agent = ProgramAgent(f"{kind}-0", at(kind, replay.url, starts), folder, 10**9)
        threading.Thread(target=beside, args=(replay,), daemon=True).start()
        campaign = go(folder, {}, others=[agent])
        return Ran(campaign, replay, folder, agent.name)


def at(kind: str, url: str, starts: int) -> AgentProgram:
    """The pack's program as it comes, but for where its model is."""
    with pytest.MonkeyPatch.context() as patch:
        for key in KEYS:
            patch.setenv(key, HARNESS_KEY)
        program = load_program(find("agents", kind))
    upstreams = tuple(replace(each, url=url) for each in program.upstreams)
    return replace(program, upstreams=upstreams, starts=starts)


def researcher(kind: str, workspace: Path) -> Script:
    """Writes a recipe, tries a slow one that is known, edits its own, and tries that: it is fast.

    Each step is a call, so the results so far say which is next.
    """
    steps = (
        lambda heard: call("read_board"),
        lambda heard: written(kind, workspace / FILE),
        lambda heard: proposed(MOVES, speed="0.2"),
        lambda heard: call("read_results", experiment=latest(heard), wait=60),
        lambda heard: call("run_trials", experiment=latest(heard)),
        lambda heard: call("read_results", experiment=latest(heard), wait=60),
        lambda heard: call("post_finding", text="0.2 is no faster", evidence=[latest(heard)]),
        lambda heard: edited(kind, workspace / FILE),
        lambda heard: proposed(source(FAST)),
        lambda heard: call("read_results", experiment=latest(heard), wait=60),
        lambda heard: call("run_trials", experiment=latest(heard)),
        lambda heard: call("read_results", experiment=latest(heard), wait=60),
    )

    def script(heard: Heard) -> Turn:
        at = len(heard.results)
        text = "The board first." if at == 0 else ""
        return Turn(text, (steps[at](heard),)) if at < len(steps) else Turn("That was it.")

    return script


def latest(heard: Heard) -> str:
    """Of its experiments."""
    return re.findall(r"(\S+) is collecting", "\n".join(heard.of("train")))[-1]


def source(speed: float) -> str:
    """A recipe of its own."""
    return MOVES.replace("speed: float = 0.3", f"speed: float = {speed}")


def proposed(text: str, **settings: str) -> Call:
    """An experiment with a recipe."""
    why = "at another speed it reaches more"
    return call("train", hypothesis=why, recipe="moves", source=text, settings=settings)


def written(kind: str, path: Path) -> Call:
    """A file, by the program's own tool."""
    if kind == "claude_code":
        return call("Write", file_path=str(path), content=source(0.2))
    if kind == "gemini":
        return call("write_file", file_path=path.name, content=source(0.2))
    if kind in OURS:
        return call("write_file", path=path.name, text=source(0.2))
    return call("exec_command", cmd=f"cat >{path.name} <<'END'\n{source(0.2)}END\n")


def edited(kind: str, path: Path) -> Call:
    """That file, by the program's own tool."""
    old, new = "speed: float = 0.2", f"speed: float = {FAST}"
    if kind == "claude_code":
        return call("Edit", file_path=str(path), old_string=old, new_string=new)
    if kind == "gemini":
        about = {"instruction": "the speed", "file_path": path.name}
        return call("replace", old_string=old, new_string=new, **about)
    if kind in OURS:
        return call("edit_file", path=path.name, old=old, new=new)
    patch = f"*** Begin Patch\n*** Update File: {path.name}\n@@\n-    {old}\n+    {new}\n"
    return Call("apply_patch", json.dumps(patch + "*** End Patch\n"))


def persistent(experiments: int) -> Script:
    """Tries so many slow recipes, one after the other; goes by the harness's results alone.

    So it goes on where it was, in a new conversation too.
    """

    def script(heard: Heard) -> Turn:
        last = heard.results[-1][1] if heard.results else ""
        if "the latest last" not in last and "no experiments yet" not in last:
            return Turn("", (call("read_results", last=40),))
        began = re.findall(r"^(\S+-\d+) \(.*on policy-0: (.*), effect", last, re.MULTILINE)
        under_way = [(id, state) for id, state in began if state not in DECIDED]
        for id, state in under_way:
            if "not asked for" in state:
                return Turn("", (call("run_trials", experiment=id),))
            return Turn("", (call("read_results", experiment=id, wait=60),))
        if len(began) >= experiments:
            return Turn("That was it.")
        return Turn("", (proposed(MOVES, speed=f"{0.2 + 0.005 * len(began):.3f}"),))

    return script


def left(workspace: Path) -> list[int]:
    """Processes that stand in a workspace, whoever has started them."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cwd"):
        with contextlib.suppress(OSError):
            if path.readlink() == workspace:
                found.append(int(path.parent.name))
    return found


def running(kind: str) -> list[int]:
    """Processes of a program that this process, or one that it started, has started."""
    names = {"claude_code": ("claude",), "codex": ("codex",), "gemini": ("node",)}[kind]
    parents: dict[int, int] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            after = path.read_text().rpartition(")")[2].split()
            parents[int(path.parent.name)] = int(after[1])
    found = []
    for pid in parents:
        above = pid
        while above in parents and above != os.getpid():
            above = parents[above]
        with contextlib.suppress(OSError):
            name = Path(os.readlink(f"/proc/{pid}/exe")).name
            if above == os.getpid() and name.startswith(names):
                found.append(pid)
    return found


def main() -> None:
    """Start or continue a campaign, to its end."""
    folder, kind, url = Path(sys.argv[1]), sys.argv[2], sys.argv[3]
    unbiased_estimate.ENOUGH = 8
    go(folder, {}, others=[ProgramAgent(f"{kind}-0", at(kind, url, 4), folder, 10**9)])


if __name__ == "__main__":
    main()
