"""Real coding agents, `claude`, `codex` and `gemini`, against a replayed model on loopback."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from enpire.evolution import campaign as campaigns
from enpire.evolution.experiment import State
from enpire.evolution.programs import WORKSPACES

from .coding import FILE, KINDS, Ran, ran, researcher, source
from .moving import FAST
from .replay import Fault, Heard, Turn, call

pytest.importorskip("mcp")


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
    "codex": openai,
    "gemini": google,
}


@pytest.fixture(autouse=True)
def soon_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(campaigns, "ENOUGH", 8)


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


@pytest.mark.parametrize("kind", KINDS)
def test_a_campaign_comes_to_its_end(tmp_path: Path, kind: str) -> None:
    folder = tmp_path / "run"
    workspace = (folder / WORKSPACES / f"{kind}-0" / "work").resolve()
    ended = ran(folder, kind, researcher(kind, workspace))
    campaign = ended.campaign
    assert campaign.state.reached
    first, second = campaign.record.experiments
    assert (first.state, second.state) == (State.DROPPED, State.KEPT)
    assert second.source == source(FAST) == (ended.workspace / FILE).read_text()
    assert [f.text for f in campaign.board.findings.values() if f.agent == ended.name] == [
        "0.2 is no faster"
    ]
    is_counted(ended, kind)


def reader(heard: Heard) -> Turn:
    """Reads twice, and ends."""
    names = ("read_board", "status")
    at = len(heard.results)
    return Turn("", (call(names[at]),)) if at < len(names) else Turn("That was it.")


@pytest.mark.parametrize("fault", Fault)
@pytest.mark.parametrize("kind", KINDS)
def test_a_fault_of_the_api_is_overcome(tmp_path: Path, kind: str, fault: Fault) -> None:
    ended = ran(tmp_path / "run", kind, reader, [None, fault])
    assert ended.campaign.record.retired == {ended.name: "its program has ended"}
    assert "The board is empty" in ended.printed
    assert "Incumbent policy-0" in ended.printed
    is_counted(ended, kind)
