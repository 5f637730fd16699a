"""Drafts for tests: agents that are scripts, and a bench that runs nothing."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from enpire.evolution.agents.program import AgentProgram
from enpire.evolution.drafting.extraction import digest, extract, write
from enpire.evolution.drafting.sandboxed_commands import DraftBench, DraftTrial
from enpire.evolution.drafting.session import WORK, DraftRequest
from enpire.packs.finder import content_hash, find
from enpire.sandbox.sandbox import CommandResult

NAME = "insert_usb_plug"
TEMPLATE = {"task.py": b'"""Made from pick_cube."""\n', "scene.xml": b"<mujoco/>\n"}
PNG = b"\x89PNG\r\n\x1a\n and the rest"

BEGINS = """
import json, os, pathlib, subprocess, sys, time

told = sys.stdin.read()
python, bridge, tools = sys.argv[1:]
server = subprocess.Popen(
    [python, "-I", "-S", bridge, tools], stdin=subprocess.PIPE, stdout=subprocess.PIPE
)
numbers = iter(range(1, 1000))
pack = pathlib.Path("insert_usb_plug")


def ask(method, params):
    said = {"jsonrpc": "2.0", "id": next(numbers), "method": method, "params": params}
    server.stdin.write(json.dumps(said).encode() + b"\\n")
    server.stdin.flush()
    return json.loads(server.stdout.readline())["result"]


def tool(name, **given):
    answer = ask("tools/call", {"name": name, "arguments": given})
    print(name, answer, flush=True)
    return answer["content"][0]["text"]


def edit(text):
    (pack / "task.py").write_text(text)


about = {"name": "a", "version": "0"}
ask("initialize", {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": about})
server.stdin.write(b'{"jsonrpc": "2.0", "method": "notifications/initialized"}\\n')
"""


def program(folder: Path, script: str, starts: int = 1) -> AgentProgram:
    """An agent that is this script, after `BEGINS`."""
    folder.mkdir()
    (folder / "agent.py").write_text(BEGINS + script)
    command = ("{python}", "-I", "-S", "{pack}/agent.py", "{python}", "{bridge}", "{tools}")
    return AgentProgram("scripted", folder, command, "{method}\n\n{brief}\n", starts=starts)


def begun(folder: Path, files: Mapping[str, bytes] = TEMPLATE) -> DraftRequest:
    """A draft as it begins, in `folder`."""
    write(files, folder / WORK / NAME)
    began = digest(extract(folder / WORK, NAME).files)
    return DraftRequest(NAME, "insert a USB plug", "so101", "scripted", began)


class Judge(DraftBench):
    """In place of a bench: says what these functions say of a pack's `task.py`, and runs nothing.

    asked: the words of each run. packs: what each was of.
    """

    def __init__(
        self,
        passes: Callable[[bytes], bool] = lambda text: b"good" in text,
        certifies: Callable[[bytes], bool] = lambda text: True,
        trusted: Mapping[str, bytes] | None = None,
    ) -> None:
        super().__init__()
        self.passes, self.certifies = passes, certifies
        self.asked: list[list[str]] = []
        self.packs: list[dict[str, bytes]] = []

    def run(
        self,
        name: str,
        files: Mapping[str, bytes],
        words: Sequence[str],
        most_s: float,
        made: Sequence[str] = (),
    ) -> DraftTrial:
        self.asked.append(list(words))
        self.packs.append(dict(files))
        if words[0] == "render":
            return DraftTrial(CommandResult(0, b"", b""), {"picture.png": PNG})
        if "--full" in words:
            good = self.certifies(files["task.py"])
            return DraftTrial(CommandResult(0 if good else 1, examined(name, files, good), b""), {})
        good = self.passes(files["task.py"])
        return DraftTrial(
            CommandResult(0 if good else 1, b"pass" if good else b"FAIL  demonstrator", b""), {}
        )


def examined(name: str, files: Mapping[str, bytes], good: bool = True) -> bytes:
    """What a full check prints: the rows of a built-in task's certificate, for this pack."""
    folder = find("tasks", "pick_cube").folder
    kept = json.loads((folder / "certificate.json").read_text())
    others = {
        f"{p.kind}/{p.name}": p.sha256 for p in (find("robots", "so101"), find("sim", "bench"))
    }
    kept["packs"] = {f"tasks/{name}": hashed(name, files)} | others
    kept["checks"][0]["passed"] = good
    return b"a row\n" + json.dumps(kept).encode() + b"\n"


def hashed(name: str, files: Mapping[str, bytes]) -> str:
    """The content hash of a pack of these files."""
    from tempfile import TemporaryDirectory

    with TemporaryDirectory() as made:
        write(files, Path(made) / name)
        return content_hash(Path(made) / name)
