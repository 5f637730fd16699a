"""An agent's tools: what they say, what they refuse, and what they do not show."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from enpire.errors import CampaignError, UsageError
from enpire.evolution.agents.tools import Tools, callables, without
from enpire.evolution.campaign import campaign as campaigns
from enpire.evolution.experiments import unbiased_estimate
from enpire.evolution.experiments.experiment import ExperimentState
from enpire.store import Run
from enpire.types import Purpose
from tests.evolution.moving import FAST, TINY, go


@pytest.fixture(scope="module")
def ended(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tools]:
    """Those of an agent of a campaign that has reached its target."""
    kept = unbiased_estimate.ENOUGH, campaigns.LOOK_S
    unbiased_estimate.ENOUGH, campaigns.LOOK_S = 8, 0.0
    folder = tmp_path_factory.mktemp("tools") / "run"
    campaign = go(folder, {"one": [-1.0, FAST]})
    unbiased_estimate.ENOUGH, campaigns.LOOK_S = kept
    with Run.open(folder) as run:
        campaign.run_store.ledger = run.ledger  # open again, to be read
        yield Tools(campaign, "reader-0")


def test_the_brief_says_what_is_to_be_reached(ended: Tools) -> None:
    text = ended.task_brief()
    assert "Task reach" in text
    assert f"{TINY.evaluation.sealed_episodes} episodes or more on sealed seeds" in text
    assert "bc" in text
    assert "Incumbent one-1: 1.000" in text


def test_an_answer_is_compact(ended: Tools) -> None:
    for text in (ended.task_brief(), ended.status(), ended.read_board()):
        assert len(text) < 4000


def test_an_episode_is_read_in_numbers(ended: Tools) -> None:
    lost = [e for e in ended.campaign.known.episodes.values() if not e.success and len(e)]
    shown = ended.read_episode(lost[0].id, rows=3)
    assert "near:" in shown.text
    assert "fail" in shown.text
    assert sum("→" in line for line in shown.text.splitlines()) == 1 + 3
    assert shown.pictures == ()


def test_sealed_episodes_are_not_shown(ended: Tools) -> None:
    sealed = [e for e in ended.campaign.known.episodes.values() if e.purpose is Purpose.SEALED]
    assert sealed
    with pytest.raises(CampaignError, match="no episode"):
        ended.read_episode(sealed[0].id)


@pytest.mark.parametrize(
    ("act", "words"),
    [
        (lambda t: t.read_episode("x"), "read_results"),
        (lambda t: t.train("better", "nothing_such"), "there are: .*replay_bc"),
        (lambda t: t.train("better", "bc", {"nothing_such": "1"}), "no such setting"),
        (lambda t: t.train("", "bc"), "hypothesis"),
        (lambda t: t.run_trials("one-1"), "is one's"),
        (lambda t: t.run_trials("x-9"), "the last ones are: one-0, one-1"),
        (lambda t: t.post_finding("fast is good", []), "evidence"),
        (lambda t: t.post_finding("fast is good", ["x-9"]), "no decided experiment"),
        (lambda t: t.propose_merge(["one-0"], "both"), "two experiments or more"),
    ],
)
def test_what_is_refused_says_what_to_do(
    ended: Tools, act: Callable[[Tools], object], words: str
) -> None:
    before = len(ended.campaign.record.entries)
    with pytest.raises(CampaignError, match=words):
        act(ended)
    assert len(ended.campaign.record.entries) == before


@pytest.mark.medium
def test_an_experiment_waits_for_its_trials_until_they_are_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(unbiased_estimate, "ENOUGH", 8)
    monkeypatch.setattr(campaigns, "LOOK_S", 0.0)
    patience = 40
    asked: list[str] = []

    class Slow(campaigns.Campaign):
        """Asks for trials once the experiment has been seen waiting."""

        def _turns(self) -> None:
            super()._turns()
            entry = self.record.entries.get(1)
            trained = self.run_store.ledger.policy("one-0") is not None
            if entry and trained and not entry.released:
                asked.append(Tools(self, "one").status())
                if len(asked) == patience:
                    Tools(self, "one").run_trials(entry.experiment.id)

        def propose(self, experiment: object, trials: bool = True) -> None:
            super().propose(experiment, trials=False)  # type: ignore[arg-type]

    campaign = go(tmp_path / "run", {"one": [FAST]}, kind=Slow)
    assert len(asked) == patience
    assert "run_trials not asked for" in asked[0]
    assert campaign.record.entries[1].experiment.state is ExperimentState.KEPT


def test_an_agent_that_ends_leaves_nothing_waiting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(campaigns, "LOOK_S", 0.0)

    class Leaving(campaigns.Campaign):
        """Its agent goes away once the experiment is trained."""

        def _turns(self) -> None:
            super()._turns()
            if self.run_store.ledger.policy("one-0") is not None:
                self.retire("one", "its program has ended")

        def propose(self, experiment: object, trials: bool = True) -> None:
            super().propose(experiment, trials=False)  # type: ignore[arg-type]

    campaign = go(tmp_path / "run", {"one": [FAST]}, kind=Leaving)
    assert campaign.record.entries[1].experiment.state is ExperimentState.DROPPED
    assert "before it asked for trials" in campaign.record.entries[1].experiment.reason
    assert campaign.record.retired == {"one": "its program has ended"}


def test_a_campaign_may_do_without_some_tools(ended: Tools) -> None:
    team = ended.campaign.team
    ended.campaign.team = replace(team, tools_off=without("literature,board"))
    left = {tool.__name__ for tool in callables(ended)}
    ended.campaign.team = team
    everything = {tool.__name__ for tool in callables(ended)}
    assert everything - left == {"search_literature", "read_board", "post_finding"}
    with pytest.raises(UsageError, match="literature"):
        without("litrature")
