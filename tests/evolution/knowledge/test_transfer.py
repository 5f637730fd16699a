"""What a campaign takes over from another run: words, recipes and code, and nothing else."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from enpire.errors import CampaignError
from enpire.evolution.agents.tools import Tools
from enpire.evolution.agents.tuner import Tuner
from enpire.evolution.campaign import campaign as campaigns
from enpire.evolution.experiments import unbiased_estimate
from enpire.evolution.experiments.events import FIRST, RETIRED, retirement
from enpire.evolution.experiments.experiment import Experiment, ExperimentState
from enpire.evolution.knowledge import transfer
from enpire.evolution.knowledge.board import FindingsBoard
from enpire.evolution.knowledge.transfer import (
    AGENT,
    TransferredKnowledge,
    TransferredRecipe,
    read_transfer,
)
from enpire.store import EventRow, PolicyRow, Run
from tests.environment.reach import reach_stations
from tests.evolution.moving import FAST, MOVES, SLOW, TINY, config, go


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A campaign that kept one of three, and whose board says why."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(unbiased_estimate, "ENOUGH", 8)
        patched.setattr(campaigns, "LOOK_S", 0.0)
        folder = tmp_path_factory.mktemp("carried") / "run"
        done = go(folder, {"one": [-1.0, FAST, SLOW]})
    board = FindingsBoard.open(folder)
    board.post("one", "fast\u202e is better\nby far", ["one-1"], known(done))
    board.close()
    return folder


def known(campaign: campaigns.Campaign) -> dict[str, Experiment]:
    return {e.id: e for e in campaign.record.experiments}


def taken(source: Path) -> TransferredKnowledge:
    with Run.open(source) as run:
        return read_transfer(run)


def test_it_is_findings_and_kept_recipes_with_their_code(source: Path) -> None:
    found = taken(source)
    assert found.ideas == (TransferredRecipe("one-1", "moves", (("speed", "1.0"),), MOVES),)
    assert "On reach: fast is better\nby far" in found.findings
    assert found.origin["task"] == "reach"
    assert found.files == {"carried/one-1.py": MOVES}


def test_no_policy_no_seed_and_no_count_comes_with_it(source: Path, tmp_path: Path) -> None:
    found = taken(source)
    found.write(tmp_path)
    text = (tmp_path / transfer.FILE).read_text()
    assert set(json.loads(text)) == {"task", "run", "sha256", "findings", "ideas"}
    assert "effect" not in text
    with Run.open(source) as run:
        assert not any(str(row.seed) in text for row in run.ledger.episodes())
    board = FindingsBoard.open(tmp_path)
    for _ in range(2):
        found.post(board)
    assert {f.agent for f in board.findings.values()} == {AGENT}
    assert len(board.findings) == len(found.findings) + 1
    assert all(not f.support and not f.evidence for f in board.findings.values())
    board.close()


def test_it_is_read_as_it_was_written(source: Path, tmp_path: Path) -> None:
    assert transfer.read(tmp_path) is None
    found = taken(source)
    found.write(tmp_path)
    assert transfer.read(tmp_path) == found
    (tmp_path / transfer.FILE).write_text('{"task": 1}')
    with pytest.raises(CampaignError, match="damaged"):
        transfer.read(tmp_path)


def test_the_hash_tells_of_what_had_happened(tmp_path: Path) -> None:
    hashes: list[str] = []
    with Run.create(tmp_path / "run", config(TINY)) as run:
        for _ in range(2):
            hashes += [read_transfer(run).sha256, read_transfer(run).sha256]
            run.ledger.add_event(EventRow(0, RETIRED, retirement("one", "done")))
    assert hashes[0] == hashes[1] != hashes[2] == hashes[3]


def test_a_tuner_tries_it_first_and_as_it_is(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(unbiased_estimate, "ENOUGH", 8)
    monkeypatch.setattr(campaigns, "LOOK_S", 0.0)
    found = taken(source)
    folder = tmp_path / "run"
    Run.create(folder, config(TINY)).close()
    found.write(folder)
    tuner = Tuner("tuner-0", (), 0, transferred=found.ideas)
    done = go(folder, {}, others=[tuner])
    (one,) = done.record.experiments
    assert (one.recipe, one.settings, one.source) == ("moves", (("speed", "1.0"),), MOVES)
    assert (one.base, one.state) == (FIRST, ExperimentState.KEPT)
    told = Tools(done, "reader-0").read_board("moves")
    assert "> On reach this was kept: recipe moves with speed 1.0" in told
    assert "carried/one-1.py" in told


def test_two_tuners_do_not_try_the_same() -> None:
    ideas = tuple(
        TransferredRecipe(f"a-{i}", "bc", (("training.steps", str(i)),)) for i in range(2)
    )
    one, two = (Tuner(f"tuner-{i}", (), 0, transferred=ideas) for i in range(2))
    first = one.propose([], FIRST)
    second = two.propose([first], FIRST)
    assert [first.settings, second.settings] == [ideas[0].settings, ideas[1].settings]
    with pytest.raises(CampaignError, match="repertoire"):
        one.propose([first, second], FIRST)


def test_a_loop_has_the_recipes_of_what_it_promoted(tmp_path: Path) -> None:
    settings = {"training.steps": "7"}
    loop = {"task": "reach", "recipe": "bc,replay_bc", "recipe_settings": settings}
    with Run.create(tmp_path / "run", {"loop": loop}) as run:
        run.ledger.add_policy(PolicyRow("policy-0", "", "a", recipe="bc", state="incumbent"))
        run.ledger.add_policy(PolicyRow("policy-1", "", "b", recipe="bc", round=1))
        row = PolicyRow("policy-2", "", "c", recipe="replay_bc", round=2, state="incumbent")
        run.ledger.add_policy(row)
        found = read_transfer(run)
    assert [idea.recipe for idea in found.ideas] == ["replay_bc"]
    assert found.ideas[0].settings == (("training.steps", "7"),)


def test_what_cannot_be_run_here_stays_behind() -> None:
    ideas = (
        TransferredRecipe("a", "bc"),
        TransferredRecipe("b", "gone"),
        TransferredRecipe("c", "bc", (("gone", "1"),)),
    )
    found = TransferredKnowledge("t", "r", "", (), ideas).fitting(reach_stations())
    assert found.ideas == ideas[:1]
