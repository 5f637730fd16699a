"""A program as an agent: in its sandbox it has its tools, its model, and nothing else."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import ClassVar

import pytest

from enpire.errors import CampaignError, PackError
from enpire.evolution.agents import programs
from enpire.evolution.agents.programs import OUTPUT, WORKSPACES, ProgramAgent, load_program
from enpire.evolution.experiments import unbiased_estimate
from enpire.evolution.experiments.budget import Ceilings
from enpire.evolution.experiments.experiment import ExperimentState
from enpire.packs import Pack
from enpire.sandbox.sandbox import available
from tests.evolution.moving import FAST, go
from tests.needs import needs

needs("mcp")

CLASSES = {"input_tokens": 120, "output_tokens": 30}

TOML = """
description = "Reads no prompt, asks its model once, and tries one thing."
command = ["{python}", "-I", "-S", "{pack}/agent.py", "{python}", "{bridge}", "{tools}"]
prompt = "prompt.md"
starts = 1

[files]
"notes/mcp.json" = "{mcp}"

[environment]
MODEL = "{model}/stub"

[[models]]
name = "stub"
url = "%s"
allowed = ["POST /v1/messages"]
key_from = "STUB_KEY"

[prices]
date = "2026-11-22"
input_tokens = 1000.0
output_tokens = 10000.0
"""

AGENT = """
import json, os, subprocess, sys, urllib.request

told = sys.stdin.read()
assert "policy-0" in told, "told what there is to improve on"
assert "are data" in told, "told how to work"
assert "STUB_KEY" not in os.environ
json.load(open("notes/mcp.json"))["mcpServers"]["enpire"]

body = {"model": "m", "max_tokens": 10, "messages": [{"role": "user", "content": "?"}]}
request = urllib.request.Request(
    os.environ["MODEL"] + "/v1/messages",
    json.dumps(body).encode(),
    {"Content-Type": "application/json"},
)
with urllib.request.urlopen(request, timeout=60) as answer:
    recipe = json.load(answer)["content"][0]["text"]

python, bridge, tools = sys.argv[1:]
server = subprocess.Popen(
    [python, "-I", "-S", bridge, tools], stdin=subprocess.PIPE, stdout=subprocess.PIPE
)
numbers = iter(range(1, 1000))


def ask(method, params):
    said = {"jsonrpc": "2.0", "id": next(numbers), "method": method, "params": params}
    server.stdin.write(json.dumps(said).encode() + b"\\n")
    server.stdin.flush()
    return json.loads(server.stdout.readline())["result"]


def tool(name, **given):
    answer = ask("tools/call", {"name": name, "arguments": given})
    return answer["content"][0]["text"]


about = {"name": "a", "version": "0"}
ask("initialize", {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": about})
server.stdin.write(b'{"jsonrpc": "2.0", "method": "notifications/initialized"}\\n')
subprocess.run(["git", "log", "-1", "--format=%H"], check=True, capture_output=True)
said = tool("train", hypothesis="less is enough", recipe=recipe, settings={"training.steps": "3"})
mine = said.split()[0]
told = tool("read_results", experiment=mine, wait=60)
assert "Training:" in told and "run_trials not asked for" in told, told
print(tool("run_trials", experiment=mine))
told = tool("read_results", experiment=mine, wait=60)
assert "dropped" in told or "kept" in told, told
print(tool("post_finding", text="three steps are too few", evidence=[mine]))
"""


class Stub(BaseHTTPRequestHandler):
    """A model that always says the same."""

    keys: ClassVar[list[str | None]] = []

    def do_POST(self) -> None:
        self.keys.append(self.headers.get("x-api-key"))
        self.rfile.read(int(self.headers["content-length"]))
        said = {"model": "m", "content": [{"type": "text", "text": "bc"}], "usage": CLASSES}
        body = json.dumps(said).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def pack(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Pack]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Stub)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    folder = tmp_path / "scripted"
    folder.mkdir()
    (folder / "agent.toml").write_text(TOML % f"http://127.0.0.1:{server.server_port}")
    (folder / "agent.py").write_text(AGENT)
    (folder / "prompt.md").write_text("{method}\n\n{brief}\n")
    monkeypatch.setenv("STUB_KEY", "secret")
    monkeypatch.setattr(unbiased_estimate, "ENOUGH", 8)
    yield Pack("agents", "scripted", folder, "0" * 64)
    server.shutdown()


@pytest.mark.medium
@pytest.mark.skipif(not available().works, reason=available().reason)
def test_a_program_tries_something_and_what_it_used_is_counted(tmp_path: Path, pack: Pack) -> None:
    folder = tmp_path / "run"
    agent = ProgramAgent("scripted-0", load_program(pack), folder, tokens=1000)
    campaign = go(folder, {}, ceilings=Ceilings(experiments=1), others=[agent])
    record = campaign.record
    (experiment,) = record.experiments
    assert (experiment.agent, experiment.recipe) == ("scripted-0", "bc")
    assert experiment.state in (ExperimentState.DROPPED, ExperimentState.KEPT)
    (finding,) = [f for f in campaign.board.findings.values() if f.agent == "scripted-0"]
    assert finding.evidence == (experiment.id,)
    assert record.spent.tokens == 150
    assert record.spent.dollars == pytest.approx((120 * 1000 + 30 * 10000) / 1e6)
    assert Stub.keys[-1] == "secret", "put in by the proxy"
    assert record.retired == {"scripted-0": "its program has ended"}
    said = (folder / WORKSPACES / "scripted-0" / OUTPUT).read_text()
    assert "goes on to its trials" in said


@pytest.mark.skipif(not available().works, reason=available().reason)
def test_a_program_that_fails_leaves_and_the_others_go_on(tmp_path: Path, pack: Pack) -> None:
    (pack.folder / "agent.py").write_text("raise SystemExit('no idea what to do')")
    folder = tmp_path / "run"
    agent = ProgramAgent("scripted-0", load_program(pack), folder, tokens=1000)
    campaign = go(folder, {"one": [FAST]}, others=[agent])
    assert campaign.state.reached
    (why,) = [campaign.record.retired["scripted-0"]]
    assert "exit code 1" in why
    assert "no idea what to do" in why


@pytest.mark.skipif(not available().works, reason=available().reason)
def test_a_program_that_has_failed_is_started_again(tmp_path: Path, pack: Pack) -> None:
    told = "import os\nassert os.path.exists('been') or open('been', 'w').close(), 'not yet'\n"
    (pack.folder / "agent.py").write_text(told + "print('here again')")
    path = pack.folder / "agent.toml"
    path.write_text(path.read_text().replace("starts = 1", "starts = 2"))
    folder = tmp_path / "run"
    agent = ProgramAgent("scripted-0", load_program(pack), folder, tokens=1000)
    campaign = go(folder, {}, others=[agent])
    assert campaign.record.retired == {"scripted-0": "its program has ended"}
    assert (folder / WORKSPACES / "scripted-0" / OUTPUT).read_text() == "here again\n"


def test_what_npm_installed_is_read_with_its_packages(
    tmp_path: Path, pack: Pack, monkeypatch: pytest.MonkeyPatch
) -> None:
    packages = tmp_path / "lib" / "node_modules"
    script = packages / "@maker" / "coder" / "bin" / "coder.js"
    node = tmp_path / "versions" / "node"
    for path in (script, node):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("#!/usr/bin/env node\n")
        path.chmod(0o755)
    (node.parent / "coder").symlink_to(script)
    monkeypatch.setattr(programs, "PATH", str(tmp_path / "nothing"))
    monkeypatch.setenv("PATH", str(node.parent))
    path = pack.folder / "agent.toml"
    path.write_text(path.read_text().replace('["{python}", "-I"', '["coder", "-I"', 1))
    program = load_program(pack)
    assert program.command[0] == str(script)
    assert program.readable == (packages, node.parent)
    assert program.environment["PATH"].startswith(f"{node.parent}:")


def test_a_missing_key_says_which(pack: Pack, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("STUB_KEY")
    with pytest.raises(CampaignError, match="STUB_KEY"):
        load_program(pack)


def test_a_key_may_be_left_out_and_the_model_be_elsewhere(
    pack: Pack, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = pack.folder / "agent.toml"
    more = 'key_from = "STUB_KEY"\nkey = "optional"\nurl_from = "STUB_URL"'
    path.write_text(path.read_text().replace('key_from = "STUB_KEY"', more))
    monkeypatch.delenv("STUB_KEY")
    (model,) = load_program(pack).upstreams
    assert model.key == ""
    assert model.url.startswith("http://127.0.0.1:")
    monkeypatch.setenv("STUB_URL", "http://gpu:8000/")
    assert load_program(pack).upstreams[0].url == "http://gpu:8000"
    for wrong in ("gpu:8000", "http://gpu:8000/v1"):
        monkeypatch.setenv("STUB_URL", wrong)
        with pytest.raises(CampaignError, match="STUB_URL must be"):
            load_program(pack)


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        ('command = ["{python}"', 'command = ["nothing-such"', "not installed"),
        ("prompt.md", "other.md", "not in the pack"),
        ("input_tokens = 1000.0", 'input_tokens = "x"', "input_tokens must be a number"),
        ('allowed = ["POST /v1/messages"]', "allowed = [1]", "list of strings"),
        ("starts = 1", "hour = 1", "hour means nothing here; do you mean hours"),
        ("starts = 1", "hours = -1", "hours must be above 0"),
        ("starts = 1", "hours = nan", "hours has nan"),
        ("starts = 1", "starts = 0", "starts must be above 0"),
        ("key_from", "key_form", "key_form means nothing here; do you mean key_from"),
    ],
)
def test_a_pack_that_cannot_be_says_why(pack: Pack, before: str, after: str, words: str) -> None:
    path = pack.folder / "agent.toml"
    path.write_text(path.read_text().replace(before, after))
    with pytest.raises((CampaignError, PackError), match=words):
        load_program(pack)


def test_nothing_is_written_outside_of_the_workspace(tmp_path: Path, pack: Pack) -> None:
    path = pack.folder / "agent.toml"
    path.write_text(path.read_text().replace('"notes/mcp.json"', '"../mcp.json"'))
    agent = ProgramAgent("scripted-0", load_program(pack), tmp_path / "run", tokens=1000)
    campaign = go(tmp_path / "run", {}, others=[agent])
    assert "not in the workspace" in campaign.record.retired["scripted-0"]
    assert not list((tmp_path / "run" / WORKSPACES).rglob("mcp.json"))
