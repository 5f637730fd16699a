"""A whole session: the agent's program is real and sandboxed; what benches say is scripted."""

from __future__ import annotations

import _thread
import contextlib
import json
import math
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from enpire.cli import main
from enpire.errors import PackError
from enpire.evolution.drafting import sandboxed_commands
from enpire.evolution.drafting.extraction import DraftError
from enpire.evolution.drafting.session import OUTPUT, WORK, Drafting, published
from enpire.evolution.experiments.budget import Ceilings
from enpire.packs import find
from enpire.packs.signing import require_signed
from enpire.sandbox import sandbox
from enpire.sandbox.sandbox import Availability
from tests.evolution.coding import at, kinds, left
from tests.evolution.hostile.arena import needs_sandbox
from tests.evolution.replay import Call, Heard, Replay, Turn, call
from tests.needs import needs

from .scripted import BEGINS, NAME, PNG, Judge, begun, program

needs("mcp")
pytestmark = needs_sandbox


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def drafted(
    script: str, bench: Judge | None = None, starts: int = 1, checks: float = math.inf
) -> tuple[Path | None, Drafting, str]:
    """Where the pack is, the session, and what the script printed. checks: then time is up."""
    folder = Path("drafts") / NAME
    asked = begun(folder)
    agent = program(Path("scripted").resolve(), script, starts)
    bench = bench or Judge()

    def say(line: str) -> None:
        if line.startswith(f"check {checks}"):
            session._until = time.monotonic()

    with Drafting(asked, agent, folder, Ceilings(), math.inf, say, bench) as session:
        where = session.run(Path("tasks"))
    output = folder / OUTPUT
    return where, session, output.read_text() if output.exists() else ""


GOES_WELL = """
assert "insert a USB plug" in told and "What a pack is" in told, told
brief = tool("task_brief")
assert "insert a USB plug" in brief and "no limits" in brief, brief
assert "no whole check has passed" in tool("check", checks="demonstrator") + tool("done")
edit("bad")
assert "misses a bar" in tool("check")
edit("good")
assert "call done" in tool("check")
edit("good, but another")
assert "has changed since" in tool("done")
tool("check")
image = ask("tools/call", {"name": "look", "arguments": {"at": 600}})["content"][1]
assert image["type"] == "image", image
assert "Taken" in tool("done")
"""


def test_a_draft_becomes_a_pack_that_a_person_signs(capsys: pytest.CaptureFixture[str]) -> None:
    script = GOES_WELL.replace('tool("check", checks="demonstrator") + ', "")
    where, session, output = drafted('edit("x")\n' + script)
    assert where == Path("tasks") / NAME, output + session.reason
    assert (where / "task.py").read_text() == "good, but another"
    assert (where / "pictures" / "end.png").read_bytes() == PNG
    pack = find("tasks", NAME)
    with pytest.raises(PackError, match="nobody has signed"):
        require_signed(pack)
    assert main(["task", "sign", NAME, "--by", "Ada", "--hash", pack.sha256]) == 0
    require_signed(find("tasks", NAME))
    assert main(["tasks"]) == 0
    shown = capsys.readouterr().out
    assert "look at" in shown
    assert "pictures" in shown
    assert "signed by Ada" in shown


def test_what_it_was_made_from_is_no_draft() -> None:
    where, session, output = drafted('tool("check"); tool("done")', Judge(lambda text: True))
    assert where is None
    assert "nothing was drafted" in session.reason
    assert "nothing was drafted" in output
    assert not Path("tasks").exists()


def test_a_draft_that_misses_a_bar_stays_a_draft() -> None:
    where, session, _ = drafted('edit("bad"); tool("check")')
    assert where is None
    assert "FAIL  demonstrator" in session.reason
    assert not Path("tasks").exists()
    assert (Path("drafts") / NAME / WORK / NAME / "task.py").read_text() == "bad"


AGAIN = """
if "What came of it before" in told:
    assert "misses" in told and "demonstrator: COUNTED" in told, told
    edit("good, and better")
else:
    edit("good")
tool("check")
tool("done")
"""


def test_an_agent_is_told_what_its_certification_missed() -> None:
    bench = Judge(certifies=lambda text: b"better" in text)
    kept = json.loads((find("tasks", "pick_cube").folder / "certificate.json").read_text())
    row = kept["checks"][0]  # the bench says what this certificate has
    script = AGAIN.replace("COUNTED", f"{row['k']} of {row['n']}")
    where, _, output = drafted(script, bench, starts=2)
    assert where is not None, output
    assert sum("--full" in words for words in bench.asked) == 2


def test_a_program_that_fails_says_why() -> None:
    where, session, _ = drafted('edit("bad")\nsys.exit("no \\x1b[2Jidea how")')
    assert where is None
    assert "no [2Jidea how" in session.reason, "harmless to a terminal"


def test_time_that_is_up_ends_it_and_what_is_there_is_looked_at() -> None:
    script = 'edit("good"); tool("check", checks="demonstrator"); time.sleep(600)'
    where, session, _ = drafted(script, checks=1)
    assert session.budget_ended == "--max-time is used up"
    assert where is not None
    assert left((Path("drafts") / NAME / WORK).resolve()) == []


PLANTS = """
edit("good")
os.symlink("/etc/passwd", pack / "passwd.txt")
os.symlink(".", pack / "loop")
(pack / "__pycache__").mkdir()
for name in (
    "certificate.json", "signature.json", "drafted.toml", "conftest.py", "evil.pth", ".hidden.py",
    "__pycache__/task.cpython-312.pyc",
):
    (pack / name).write_text("{}")
(pack / "demonstrator.py").write_text("kept")
tool("check")
tool("done")
"""


def test_what_a_hostile_draft_planted_is_not_in_the_pack() -> None:
    bench = Judge()
    where, session, output = drafted(PLANTS, bench)
    assert where is not None, session.reason
    found = {str(path.relative_to(where)) for path in where.rglob("*") if not path.is_dir()}
    pictures = {f"pictures/{moment}.png" for moment in ("start", "middle", "end")}
    made = {"certificate.json", "drafted.toml"} | pictures
    assert found == {"task.py", "scene.xml", "demonstrator.py"} | made
    assert 'asked = "insert a USB plug"' in (where / "drafted.toml").read_text()
    assert not any(path.is_symlink() for path in where.rglob("*"))
    assert "Left behind: passwd.txt" in output
    for files in bench.packs:
        assert files["drafted.toml"] != b"{}"


def test_a_pack_that_is_there_stays_as_it_is() -> None:
    Path("tasks", NAME).mkdir(parents=True)
    with pytest.raises(DraftError, match="is there already"):
        published({"task.py": b""}, Path("tasks", NAME))
    assert list(Path("tasks", NAME).iterdir()) == []


AGENT = """
description = "A script."
command = ["{python}", "-I", "-S", "{pack}/agent.py", "{python}", "{bridge}", "{tools}"]
prompt = "prompt.md"
"""


@pytest.fixture
def scripted(here: Path) -> Path:
    """An agent's pack, found by its name, whose script does nothing for ever."""
    folder = here / "agents" / "idle"
    folder.parent.mkdir()
    program(folder, "time.sleep(600)")
    (folder / "agent.toml").write_text(AGENT)
    (folder / "prompt.md").write_text("{method}{brief}")
    return folder


def test_ctrl_c_ends_all_that_it_has_started() -> None:
    folder = Path("drafts") / NAME
    agent = program(Path("scripted").resolve(), 'tool("check", checks="limits"); time.sleep(600)')

    def say(line: str) -> None:
        assert left((folder / WORK).resolve())
        _thread.interrupt_main()

    session = Drafting(begun(folder), agent, folder, Ceilings(), math.inf, say, Judge())
    with pytest.raises(KeyboardInterrupt), session:
        session.run(Path("tasks"))
    assert left((folder / WORK).resolve()) == []
    assert (folder / "draft.json").is_file()


@pytest.mark.slow
def test_an_interrupted_session_leaves_nothing_running(here: Path, scripted: Path) -> None:
    words = [sys.executable, "-m", "enpire.cli", "new", "task", "--agent", "idle", "hold a cup"]
    workspace = here / "drafts" / "hold_cup" / WORK
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as harness:
        while not left(workspace) and harness.poll() is None:
            time.sleep(0.05)
        assert left(workspace), harness.communicate()
        harness.send_signal(signal.SIGTERM)
        assert harness.wait(60) == 130
    until = time.monotonic() + 60
    while left(workspace):
        assert time.monotonic() < until, "orphans"
        time.sleep(0.05)
    assert (here / "drafts" / "hold_cup" / "draft.json").is_file()


TWO_GOES = """
edit("good" if "make it good" in told else "bad")
tool("check")
tool("done")
"""


def test_a_draft_is_gone_on_with(
    scripted: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sandboxed_commands, "DraftBench", Judge)
    (scripted / "agent.py").write_text(BEGINS + TWO_GOES)
    new = ["new", "task", "--agent", "idle"]
    assert main([*new, "insert a USB plug"]) == 1
    said = capsys.readouterr().out
    assert "check 1: misses a bar" in said
    assert f"--from drafts/{NAME}" in said
    assert not Path("tasks").exists()
    assert main([*new, "make it good", "--from", f"drafts/{NAME}"]) == 0
    said = capsys.readouterr().out
    assert f"task sign {NAME}" in said
    assert "make it good" in Path("tasks", NAME, "drafted.toml").read_text()
    assert main([*new, "better", "--from", f"drafts/{NAME}"]) == 2, "its task is there"


def test_without_walls_nothing_is_drafted(
    scripted: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sandbox, "available", lambda: Availability(False, "no bubblewrap"))
    assert main(["new", "task", "--agent", "idle", "hold a cup"]) == 2
    assert "no bubblewrap" in capsys.readouterr().err
    assert not Path("drafts").exists()


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (["--agent", "idle", "Hold the cup", "--max-time", "1s"], ["drafts/hold_cup", "--from"]),
        (["--agent", "idle", " "], ["given nothing"]),
        (["--agent", "idle", "of the"], ["--name"]),
        (["--agent", "nobody", "hold a cup"], ["nobody"]),
        (["--agent", "idle", "hold a pen", "--max-dollars", "3"], ["prices"]),
        (["--agent", "idle", "more", "--from", "agents/idle"], ["no draft"]),
        (["--agent", "idle", "hold a pen", "--robot", "so100"], ["so101"]),
        (["hold_pen", "--max-time", "1s"], ["--agent KIND"]),
    ],
)
def test_bad_usage(
    argv: list[str], words: list[str], scripted: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (Path("drafts") / "hold_cup").mkdir(parents=True)
    assert main(["new", "task", *argv]) == 2
    err = capsys.readouterr().err
    assert err.count("\n") == 1
    assert all(word in err for word in words), err


def written(kind: str, path: Path, text: str) -> Call:
    """A file, by the program's own tool."""
    if kind == "claude_code":
        return call("Write", file_path=str(path), content=text)
    if kind == "gemini":
        return call("write_file", file_path=str(path), content=text)
    return call("exec_command", cmd=f"printf %s {text!r} >{path}")


@pytest.mark.medium
@pytest.mark.parametrize("kind", kinds(slow="gemini"))
def test_a_real_program_drafts_a_pack(kind: str) -> None:
    folder = Path("drafts") / NAME
    file = (folder / WORK / NAME / "plug.py").resolve()
    steps = (
        lambda: call("task_brief"),
        lambda: written(kind, file, "good"),
        lambda: call("look", at=0),
        lambda: call("check"),
        lambda: call("done"),
    )

    def script(heard: Heard) -> Turn:
        done = len(heard.results)
        return Turn("", (steps[done](),)) if done < len(steps) else Turn("That was it.")

    with contextlib.ExitStack() as opened:
        replay = opened.enter_context(Replay(script, wanted=("done",)))
        asked, bench = begun(folder), Judge(lambda text: True)
        agent = at(kind, replay.url, 1)
        session = Drafting(asked, agent, folder, Ceilings(), math.inf, lambda line: None, bench)
        opened.enter_context(session)
        where = session.run(Path("tasks"))
    assert where is not None, session.reason + (folder / OUTPUT).read_text()[-3000:]
    assert (where / "plug.py").read_text() == "good"
    assert session._spent.tokens > 0
    assert session._spent.dollars > 0
