"""A draft's code runs in a sandbox of its own, whatever it does there."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

import pytest

from enpire.evolution.drafting.extraction import DraftError
from enpire.evolution.drafting.sandboxed_commands import CACHE, LIMITS, WARMING, DraftBench
from enpire.packs.finder import DRAFTED
from enpire.sandbox.limits import SandboxLimits
from enpire.sandbox.sandbox import CommandResult
from tests.evolution.hostile.arena import needs_sandbox

CHECK = ["task", "check", "{pack}", "--checks", "nothing", "--seeds", "1"]
REACH = (Path(__file__).parents[2] / "environment" / "reach.py").read_text()
REACH = REACH[: REACH.index("class Speed")].replace("    Controller,\n", "")
REACH += "\n\ndef _gap(r):\n    return r.position[:, 0, 0] - r.hand_position[:, 0, 0]\n"

pytestmark = needs_sandbox


def tried(text: str, most_s: float = 120.0, limits: SandboxLimits = LIMITS, made: str = "") -> str:
    """How it ended, what it printed, and what it left."""
    files = {"task.py": text.encode(), DRAFTED: b""}
    came = DraftBench(limits).run("mine", files, CHECK, most_s, [made] if made else [])
    left = came.made.get(made, b"").decode()
    out, err = came.ended.out.decode(), came.ended.err.decode()
    return f"{came.ended.code} {came.ended.breach}\n{out}{err}{left}"


@pytest.mark.slow
def test_a_draft_is_examined() -> None:
    said = tried(REACH)
    assert said.startswith("0 \npass  nothing: 0 of 1")


class Compiles(DraftBench):
    """Runs nothing: a trusted run leaves machine code, a draft's puts its own in its place."""

    found: ClassVar[list[bytes]] = []

    def _run(self, pack: Path, out: Path, words: Sequence[str], most_s: float) -> CommandResult:
        code = out / CACHE / "kernel"
        if list(words) == WARMING:
            code.parent.mkdir()
            code.write_bytes(b"the harness's")
        else:
            self.found.append(code.read_bytes())
            code.write_bytes(b"poisoned")
        return CommandResult(0, b"", b"")


def test_machine_code_that_a_draft_leaves_is_not_used_again() -> None:
    with Compiles(trusted={"task.py": b""}) as bench:
        for _ in range(3):
            bench.run("mine", {"task.py": b""}, CHECK, 1.0)
        assert bench.found == [b"the harness's"] * 3
        assert bench._compiled is not None
        kept = Path(bench._compiled.name)
    assert not kept.exists()


SEES = """
import os, pathlib, socket

found = []
for path in {paths!r}:
    found += [path] if os.path.exists(path) else []
try:
    (pathlib.Path(__file__).parent / "certificate.json").write_text("forged")
    found.append("wrote into the pack")
except OSError:
    pass
try:
    socket.create_connection(("1.1.1.1", 53), 1)
    found.append("reached the network")
except OSError:
    pass
pathlib.Path("found.txt").write_text(f"found {{found}}")
"""


@pytest.mark.medium
def test_it_sees_no_home_no_run_and_no_network(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("key")
    paths = [str(secret), str(Path.home() / ".ssh"), str(Path.cwd() / "tests")]
    assert tried(SEES.format(paths=paths), made="found.txt").endswith("found []")


@pytest.mark.medium
def test_an_endless_loop_is_ended_when_its_time_is_up() -> None:
    began = time.monotonic()
    said = tried("while True:\n    pass\n", most_s=6.0)
    assert "time: " in said.splitlines()[0]
    assert time.monotonic() - began < 60


BOMB = """
import os, pathlib, time

forked = 0
while True:
    try:
        if os.fork() == 0:
            time.sleep(600)
        forked += 1
    except OSError:
        pathlib.Path("held.txt").write_text(f"held after {forked}")
        os._exit(3)
"""


@pytest.mark.medium
def test_a_fork_bomb_is_held() -> None:
    said = tried(BOMB, limits=replace(LIMITS, processes=64), made="held.txt")
    assert said.startswith("3 \n")
    assert 0 < int(said.rpartition("held after ")[2]) < 64


def test_what_is_under_way_ends_with_the_bench() -> None:
    bench, ends = DraftBench(), []
    files = {"task.py": b"import time\ntime.sleep(600)\n", DRAFTED: b""}

    def run() -> None:
        ends.append(bench.run("mine", files, CHECK, 600.0).ended.code)

    thread = threading.Thread(target=run)
    thread.start()
    while bench._under_way is None:
        time.sleep(0.01)
    bench.close()
    thread.join(60)
    assert ends == [137]
    with pytest.raises(DraftError, match="has ended"):
        bench.run("mine", files, CHECK, 600.0)
