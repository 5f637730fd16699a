"""The harness's own loop as an agent, by both APIs, with a replayed model on loopback."""

from __future__ import annotations

from pathlib import Path

import pytest

from enpire.evolution.agents.programs import WORKSPACES, ProgramAgent
from enpire.evolution.experiments.experiment import ExperimentState
from enpire.sandbox.sandbox import available
from tests.evolution.coding import FILE, OURS, at, ran, researcher, source
from tests.evolution.moving import FAST, go
from tests.evolution.replay import Call, Fault, Heard, Replay, Turn, call
from tests.needs import needs

from .test_coding import FAULTS, has_read, is_counted, reader, soon_enough

needs("mcp")
needs("anthropic")

pytestmark = [
    pytest.mark.medium,
    pytest.mark.skipif(not available().works, reason=available().reason),
    pytest.mark.usefixtures(soon_enough.__name__),
]
both = pytest.mark.parametrize("kind", OURS)


@both
def test_a_campaign_comes_to_its_end(tmp_path: Path, kind: str) -> None:
    folder = tmp_path / "run"
    workspace = folder / WORKSPACES / f"{kind}-0" / "work"
    ended = ran(folder, kind, researcher(kind, workspace))
    campaign = ended.campaign
    assert campaign.state.reached
    first, second = campaign.record.experiments
    assert (first.state, second.state) == (ExperimentState.DROPPED, ExperimentState.KEPT)
    assert second.source == source(FAST) == (workspace / FILE).read_text()
    (finding,) = [f for f in campaign.board.findings.values() if f.agent == ended.name]
    assert finding.text == "0.2 is no faster"
    is_counted(ended, kind)


@both
def test_faults_of_the_api_are_overcome(tmp_path: Path, kind: str) -> None:
    ended = ran(tmp_path / "run", kind, reader, FAULTS)
    assert has_read(ended)
    asked = len(ended.replay.asked)
    assert asked == 4 + len(Fault), "two calls, an end, another when nudged, and the faults"
    is_counted(ended, kind)


@both
def test_what_is_refused_or_malformed_is_asked_for_again(tmp_path: Path, kind: str) -> None:
    bad = [Turn("No.", refused=True), Turn("", (Call("read_board", '{"query": "a'),))]
    ended = ran(tmp_path / "run", kind, lambda heard: bad.pop() if bad else reader(heard))
    assert has_read(ended)
    assert "is no JSON object" in ended.printed
    is_counted(ended, kind)


@both
def test_a_budget_that_is_spent_is_said(tmp_path: Path, kind: str) -> None:
    with Replay(lambda heard: Turn("", (call("read_board"),))) as replay:
        agent = ProgramAgent(f"{kind}-0", at(kind, replay.url, 1), tmp_path / "run", tokens=60_000)
        campaign = go(tmp_path / "run", {}, others=[agent])
    (why,) = campaign.record.retired.values()
    assert "the budget of tokens is spent" in why
    assert 0 < campaign.record.spent.tokens <= 60_000


@both
def test_who_refuses_and_refuses_leaves(tmp_path: Path, kind: str) -> None:
    def unwilling(heard: Heard) -> Turn:
        return Turn("No.", refused=True)

    ended = ran(tmp_path / "run", kind, unwilling)
    (why,) = ended.campaign.record.retired.values()
    assert "the model refused 3 times in a row" in why
    assert len(ended.replay.asked) == 3
    is_counted(ended, kind)
