"""Real coding agents, `claude`, `codex` and `gemini`, against a replayed model on loopback."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import pytest

from enpire.evolution.agents.programs import WORKSPACES
from enpire.evolution.experiments import unbiased_estimate
from enpire.evolution.experiments.events import replay_events
from enpire.evolution.experiments.experiment import ExperimentState
from enpire.store import Run
from tests.evolution.coding import (
    FILE,
    Ran,
    kinds,
    left,
    persistent,
    ran,
    researcher,
    running,
    source,
)
from tests.evolution.moving import FAST
from tests.evolution.replay import Call, Fault, Heard, Replay, Turn, call
from tests.needs import needs

pytestmark = pytest.mark.medium

needs("mcp")


def anthropic(n: Mapping[str, int]) -> float:
    short, long = "ephemeral_5m_input_tokens", "ephemeral_1h_input_tokens"
    kept = 5 * n[f"cache_creation.{short}"] + 8 * n[f"cache_creation.{long}"]
    return (
        4 * n["input_tokens"] + kept + 0.2 * n["cache_read_input_tokens"] + 20 * n["output_tokens"]
    )


def openai(n: Mapping[str, int]) -> float:
    read, kept = (n[f"input_tokens_details.{name}_tokens"] for name in ("cached", "cache_write"))
    plain = n["input_tokens"] - read - kept
    return 2 * plain + 0.1 * read + 2.5 * kept + 10 * n["output_tokens"]


def google(n: Mapping[str, int]) -> float:
    read = n["cachedContentTokenCount"]
    written = n["candidatesTokenCount"] + n["thoughtsTokenCount"]
    return 2 * (n["promptTokenCount"] - read) + 0.2 * read + 12 * written


BILLS: dict[str, Callable[[Mapping[str, int]], float]] = {
    "claude_code": anthropic,  # micro-dollars, written out for the model that the pack names
    "claude": anthropic,
    "local": lambda n: 0.0,
    "codex": openai,
    "gemini": google,
}


@pytest.fixture(autouse=True)
def soon_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unbiased_estimate, "ENOUGH", 8)


def is_counted(ended: Ran, kind: str) -> None:
    """Whether tokens, by class, and dollars are the server's own, to the last one."""
    told = ended.replay.classes
    assert told
    assert ended.classes == told
    spent = ended.campaign.record.spent
    assert spent.dollars * 1e6 == pytest.approx(BILLS[kind](told), rel=1e-12)
    parts = ("input_tokens", "output_tokens", "cache_creation_input_tokens")
    summed = sum(told[name] for name in (*parts, "cache_read_input_tokens"))
    assert spent.tokens == (told["total_tokens"] or told["totalTokenCount"] or summed)


@pytest.mark.parametrize("kind", kinds())
def test_a_campaign_comes_to_its_end(tmp_path: Path, kind: str) -> None:
    folder = tmp_path / "run"
    workspace = (folder / WORKSPACES / f"{kind}-0" / "work").resolve()
    ended = ran(folder, kind, researcher(kind, workspace))
    campaign = ended.campaign
    assert campaign.state.reached
    first, second = campaign.record.experiments
    assert (first.state, second.state) == (ExperimentState.DROPPED, ExperimentState.KEPT)
    assert second.source == source(FAST) == (ended.workspace / FILE).read_text()
    assert [f.text for f in campaign.board.findings.values() if f.agent == ended.name] == [
        "0.2 is no faster"
    ]
    is_counted(ended, kind)


def reader(heard: Heard) -> Turn:
    """Reads twice, and ends."""
    if not any("empty" in text for text in heard.of("read_board")):
        return Turn("", (call("read_board"),))
    if not any("Incumbent" in text for text in heard.of("status")):
        return Turn("", (call("status"),))
    return Turn("That was it.")


def has_read(ended: Ran) -> bool:
    """Whether it did so, and came to its own end."""
    whole = "The board is empty" in ended.printed and "Incumbent policy-0" in ended.printed
    return whole and ended.campaign.record.retired == {ended.name: "its program has ended"}


FAULTS = (Fault.LIMITED, Fault.OVERLOADED, None, Fault.DROPPED, None, Fault.GARBLED)  # in 3 turns
STARTS = {"gemini": 3}  # the last two faults end that program with an error


@pytest.mark.parametrize("kind", kinds(slow="gemini"))
def test_faults_of_the_api_are_overcome(tmp_path: Path, kind: str) -> None:
    ended = ran(tmp_path / "run", kind, reader, FAULTS, STARTS.get(kind, 1))
    assert has_read(ended)
    assert len(ended.replay.asked) >= 3 + len(Fault)
    is_counted(ended, kind)


@pytest.mark.parametrize("kind", kinds(slow="gemini"))
def test_a_refusal_ends_the_program_and_it_is_started_again(tmp_path: Path, kind: str) -> None:
    refusals = [Turn("I will not.", refused=True)]
    script = lambda heard: refusals.pop() if refusals else reader(heard)  # noqa: E731
    ended = ran(tmp_path / "run", kind, script, starts=2)
    assert has_read(ended)
    is_counted(ended, kind)


@pytest.mark.parametrize("kind", kinds(slow="gemini"))
def test_a_call_with_malformed_input_is_asked_for_again(tmp_path: Path, kind: str) -> None:
    malformed = [Turn("", (Call("read_board", '{"query": "a'),))]
    script = lambda heard: malformed.pop() if malformed else reader(heard)  # noqa: E731
    ended = ran(tmp_path / "run", kind, script)
    assert has_read(ended)
    is_counted(ended, kind)


OWN = {  # what a program prints of its use at its end, and the classes that are the same
    "claude_code": {
        r'"usage":{"input_tokens":(\d+)': "input_tokens",
        r'"cache_creation_input_tokens":(\d+)': "cache_creation_input_tokens",
        r'"cache_read_input_tokens":(\d+)': "cache_read_input_tokens",
        r'"output_tokens":(\d+)': "output_tokens",
    },
    "codex": {
        r'"input_tokens":(\d+)': "input_tokens",
        r'"cached_input_tokens":(\d+)': "input_tokens_details.cached_tokens",
        r'"cache_write_input_tokens":(\d+)': "input_tokens_details.cache_write_tokens",
        r'"output_tokens":(\d+)': "output_tokens",
    },
    "gemini": {
        r'"total_tokens":(\d+)': "totalTokenCount",
        r'"input_tokens":(\d+)': "promptTokenCount",
        r'"cached":(\d+)': "cachedContentTokenCount",
        r'"output_tokens":(\d+)': "candidatesTokenCount",
    },
}


@pytest.mark.parametrize("kind", kinds())
def test_what_a_program_says_of_its_use_is_the_same(tmp_path: Path, kind: str) -> None:
    ended = ran(tmp_path / "run", kind, reader)
    last = ended.printed.splitlines()[-1]
    for pattern, name in OWN[kind].items():
        said = re.search(pattern, last)
        assert said is not None
        assert int(said[1]) == ended.classes[name], name
    if kind == "claude_code":  # the one that knows prices
        cost = re.search(r'"total_cost_usd":([0-9.e-]+)', last)
        assert cost is not None
        assert float(cost[1]) == pytest.approx(ended.campaign.record.spent.dollars, rel=1e-9)
    is_counted(ended, kind)


KILLS, EXPERIMENTS, FEW = 10, 12, 4


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("kind", kinds())
def test_a_program_is_killed_at_random_ten_times(tmp_path: Path, kind: str) -> None:
    rng, killed, ended = np.random.default_rng(7), [], threading.Event()

    def kill(replay: Replay) -> None:
        while len(killed) < KILLS and not ended.is_set():
            enough = len(replay.asked) + rng.integers(0, 6)
            while len(replay.asked) < enough and not ended.wait(0.01):
                pass
            time.sleep(rng.uniform(0.0, 0.3))  # into whatever comes next
            for pid in running(kind)[:1]:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
                    killed.append(pid)

    try:
        end = ran(tmp_path / "run", kind, persistent(EXPERIMENTS), starts=KILLS + 2, beside=kill)
    finally:
        ended.set()
    assert len(killed) == KILLS
    experiments = end.campaign.record.experiments
    assert [e.id for e in experiments] == [f"{end.name}-{i}" for i in range(EXPERIMENTS)]
    assert all(e.state is ExperimentState.DROPPED for e in experiments)
    assert len(end.campaign.record.decided) == EXPERIMENTS
    is_counted(end, kind)
    assert not running(kind), "orphans"


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("kind", kinds())
def test_the_harness_is_killed_and_leaves_nothing_running(tmp_path: Path, kind: str) -> None:
    folder, rng = tmp_path / "run", np.random.default_rng(3)
    workspace = (folder / WORKSPACES / f"{kind}-0" / "work").resolve()
    with Replay(persistent(FEW)) as replay:
        command = [sys.executable, "-m", "tests.evolution.coding", str(folder), kind, replay.url]
        for _ in range(FEW):
            enough = len(replay.asked) + rng.integers(1, 8)
            with subprocess.Popen(command) as harness:
                while len(replay.asked) < enough and harness.poll() is None:
                    time.sleep(0.01)
                assert left(workspace), "its program was not there to be left"
                harness.kill()
            until = time.monotonic() + 60.0
            while left(workspace):
                assert time.monotonic() < until, "orphans"
                time.sleep(0.05)
        assert subprocess.run(command).returncode == 0
    with Run.open(folder) as run:
        record = replay_events(run.ledger.events())
    assert [e.id for e in record.experiments] == [f"{kind}-0-{i}" for i in range(FEW)]
    assert all(e.state is ExperimentState.DROPPED for e in record.experiments)
    assert len(record.decided) == FEW
