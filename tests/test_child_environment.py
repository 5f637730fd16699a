"""No child process gets a key that is in this one's environment."""

from __future__ import annotations

import ast
import os
import time
from pathlib import Path

import pytest

from enpire.child_environment import (
    child_environment,
    is_secret,
    keep_from_children,
    named_secrets,
)
from enpire.cli.helpers.children import Children
from enpire.environment.gym_bridge.gym_process import GymWorker
from enpire.improvement.training_process import _Worker as Trainer
from enpire.rollout.fleet.recovery import Recovery

ROOT = Path(__file__).parents[1]
CANARY = "canary-9f1c"

OTHERS = {
    "enpire/agent_loop/remote.py": "within a sandbox, which has an environment of its own",
    "enpire/agent_loop/workspace.py": "within a sandbox",
    "enpire/sandbox/sandbox.py": "asks bubblewrap for its version",
    "enpire/observe/gpu.py": "nvidia-smi",
    "benchmarks/safety.py": "a bench's own processes",
    "benchmarks/wire.py": "a bench's own processes",
}
"""Files that start processes without naming an environment, and why they may."""


@pytest.fixture(autouse=True)
def _canaries(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ANTHROPIC_API_KEY", "HF_TOKEN", "AWS_SECRET_ACCESS_KEY", "MY_PLAIN_NAME"):
        monkeypatch.setenv(name, CANARY)
    monkeypatch.setattr("enpire.child_environment._named", set())  # other tests name others
    keep_from_children("MY_PLAIN_NAME")


@pytest.mark.parametrize(
    ("name", "secret"),
    [
        ("OPENAI_API_KEY", True),
        ("GITHUB_TOKEN", True),
        ("githubtoken", True),
        ("PGPASSWORD", True),
        ("GOOGLE_APPLICATION_CREDENTIALS", True),
        ("TOKENIZERS_PARALLELISM", False),
        ("KEYBOARD_LAYOUT", False),
        ("SSH_AUTH_SOCK", False),
        ("PATH", False),
        ("MUJOCO_GL", False),
    ],
)
def test_secrets_are_told_by_their_names(name: str, secret: bool) -> None:
    assert is_secret(name) == secret


def test_all_else_goes_on() -> None:
    given = child_environment({"ENPIRE_STATION": "3"})
    assert given["PATH"] == os.environ["PATH"]
    assert given["ENPIRE_STATION"] == "3"
    assert CANARY not in given.values()


def test_commands_of_a_bench_have_the_keys_that_its_agents_need_and_no_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "python"
    program.write_text("#!/bin/sh\nenv\n")
    program.chmod(0o755)
    monkeypatch.setattr("sys.executable", str(program))
    with Children(keys=named_secrets()) as children:
        said = children.run(["loop"], "one", tmp_path / "log") or ""
    assert [line for line in said.splitlines() if CANARY in line] == [f"MY_PLAIN_NAME={CANARY}"]
    with Children() as children:
        assert CANARY not in (children.run(["loop"], "one", tmp_path / "log") or CANARY)


def _environment(pid: int) -> str:
    return Path(f"/proc/{pid}/environ").read_text()


def test_a_trainer_has_no_key() -> None:
    worker = Trainer()
    try:
        assert CANARY not in _environment(worker._process.pid)
    finally:
        worker._process.kill()
        worker._process.wait()


def test_a_gym_worker_has_no_key(tmp_path: Path) -> None:
    program = tmp_path / "python"
    program.write_text("#!/bin/sh\nsleep 60\n")
    program.chmod(0o755)
    worker = GymWorker("gym:some/Env-v0", 1, str(program))
    try:
        assert CANARY not in _environment(worker._process.pid)
    finally:
        worker._process.kill()
        worker._process.wait()


def test_a_recovery_command_has_no_key(tmp_path: Path) -> None:
    out = tmp_path / "environment"
    recovery = Recovery(f"env > {out}.part; mv {out}.part {out}", 10.0, "pin_box")
    recovery.call(0, "stuck")
    until = time.monotonic() + 20.0
    while not recovery.take_ended(0.1) and time.monotonic() < until:
        pass
    said = out.read_text()
    assert "ENPIRE_REASON=stuck" in said
    assert CANARY not in said


def _without_environment(path: Path) -> list[int]:
    """Lines of a file that start a process and do not say with which environment."""
    return [
        node.lineno
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in ("Popen", "run", "check_output", "check_call", "call")
        and isinstance(node.func.value, ast.Name)
        and node.func.value.id == "subprocess"
        and not any(keyword.arg == "env" for keyword in node.keywords)
    ]


def test_whoever_starts_a_process_says_with_which_environment() -> None:
    found = {
        path.relative_to(ROOT).as_posix(): lines
        for part in ("enpire", "benchmarks")
        for path in (ROOT / part).rglob("*.py")
        if (lines := _without_environment(path))
    }
    assert set(found) - set(OTHERS) == set(), "give env=child_environment()"
    assert set(OTHERS) - set(found) == set(), "named above, and no longer so"
