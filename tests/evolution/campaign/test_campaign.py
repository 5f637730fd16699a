"""The campaign: who is kept, what is examined, and that it may be killed anywhere."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from enpire.evolution.audit import audit
from enpire.evolution.campaign import campaign as campaigns
from enpire.evolution.experiments import unbiased_estimate as fresh
from enpire.evolution.experiments.budget import Ceilings
from enpire.evolution.experiments.events import LEASE, CampaignState, replay_events
from enpire.evolution.experiments.experiment import FINAL, ExperimentState
from enpire.store import Run
from enpire.types import Purpose
from tests.evolution.moving import FAST, SLOW, TINY, Killed, Steps, go

PLAN = {"one": [FAST], "two": [SLOW]}


@pytest.fixture(autouse=True)
def soon_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    """A dozen evaluations are enough, and nobody waits."""
    monkeypatch.setattr(fresh, "ENOUGH", 8)
    monkeypatch.setattr(campaigns, "LOOK_S", 0.0)


def known(folder: Path) -> CampaignState:
    with Run.open(folder) as run:
        return replay_events(run.ledger.events())


def states(folder: Path) -> dict[str, ExperimentState]:
    return {e.id: e.state for e in known(folder).experiments}


def ids(folder: Path, *purposes: Purpose) -> list[str]:
    with Run.open(folder) as run:
        return sorted(e.id for e in run.episodes(without=None) if e.purpose in purposes)


def test_the_better_one_is_kept_measured_again_and_examined(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    campaign = go(folder, PLAN)
    assert campaign.state.reached
    record = known(folder)
    first = record.named("one-0")
    assert first.experiment.state is ExperimentState.KEPT
    assert first.experiment.effect is not None
    assert first.experiment.effect.record.losses == 0
    assert record.incumbent == first.policy
    assert record.named("two-0").experiment.state is not ExperimentState.KEPT
    fresh = campaign.fresh(first.policy)
    assert fresh.trials >= 8
    assert fresh.rate == 1.0
    with Run.open(folder) as run:
        (sealed,) = run.ledger.sealed()
        assert sealed.policy == first.policy
        # Its seeds are drawn anew each time: with a failure among them it takes more than 27.
        assert sealed.trials >= TINY.evaluation.sealed_episodes
        assert sealed.successes >= TINY.evaluation.target * sealed.trials
        assert run.ledger.rounds()[-1].policy == first.policy
        row = run.ledger.policy(first.policy)
        assert row is not None
        assert (row.state, row.parent) == ("incumbent", "policy-0")


@pytest.mark.medium
def test_what_fails_in_training_is_recorded_as_failed_and_others_go_on(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    go(folder, {"one": [-1.0, FAST]})
    assert states(folder) == {"one-0": ExperimentState.FAILED, "one-1": ExperimentState.KEPT}
    assert "the loss is nan" in known(folder).named("one-0").experiment.reason


def test_no_experiment_begins_beyond_the_budget(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    slow = {"one": [SLOW, 0.31, 0.32], "two": [0.29, 0.28]}
    campaign = go(folder, slow, ceilings=Ceilings(experiments=2))
    assert not campaign.state.reached
    assert "--max-experiments" in campaign.closed
    assert len(states(folder)) == 2
    assert ExperimentState.PROPOSED not in states(folder).values()


def test_robot_time_is_set_aside_before_an_experiment_begins(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    campaign = go(folder, PLAN, ceilings=Ceilings(robot_s=30.0))
    assert "--max-robot-hours" in campaign.closed
    assert len(states(folder)) <= 1
    with Run.open(folder) as run:
        spent = sum(e.times.total for e in run.episodes())
    assert spent <= 30.0


@pytest.mark.medium
def test_no_agent_starves_and_none_has_two_at_a_time(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    go(folder, {"one": [SLOW, 0.31], "two": [0.29, 0.28], "three": [0.27]})
    assert Counter(e.agent for e in known(folder).experiments) == {"one": 2, "two": 2, "three": 1}
    entries = known(folder).entries.values()
    for agent in ("one", "two"):
        first, second = (e for e in entries if e.experiment.agent == agent)
        assert first.ended <= second.began


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A campaign that nobody disturbed."""
    folder = tmp_path_factory.mktemp("whole") / "run"
    before, fresh.ENOUGH = fresh.ENOUGH, 8
    go(folder, {"one": [-1.0, FAST]})
    fresh.ENOUGH = before
    return folder


WRITES = [(name, nth) for name in Steps.WRITES for nth in (1, 3, 6)]


@pytest.mark.medium
@pytest.mark.parametrize("after", WRITES, ids=lambda after: f"{after[0]}-{after[1]}")
def test_a_campaign_that_is_killed_after_a_write_comes_to_the_same_end(
    tmp_path: Path, whole: Path, after: tuple[str, int]
) -> None:
    folder = tmp_path / "run"
    try:
        go(folder, {"one": [-1.0, FAST]}, Steps(after=after))
    except Killed:
        go(folder, {"one": [-1.0, FAST]})
    same_end(folder, whole)


@pytest.mark.medium
@pytest.mark.parametrize("lives", [pytest.param((3, 5, 4), marks=pytest.mark.slow), (17,)])
def test_a_campaign_that_is_killed_again_and_again_comes_to_the_same_end(
    tmp_path: Path, whole: Path, lives: tuple[int, ...]
) -> None:
    folder = tmp_path / "run"
    kills = 0
    while True:
        try:
            go(folder, {"one": [-1.0, FAST]}, Steps(lives[kills % len(lives)]))
            break
        except Killed:
            kills += 1
            assert kills < 200, "it never ends"
    assert kills > 3
    same_end(folder, whole)
    with Run.open(folder) as run:
        leases = sum(row.kind == LEASE for row in run.ledger.events())
    assert leases > len(known(folder).entries), "taken up again"


def test_a_finished_campaign_that_is_continued_does_nothing(whole: Path) -> None:
    steps = Steps()
    campaign = go(whole, {"one": [-1.0, FAST], "late": [SLOW]}, steps)
    assert campaign.state.reached
    assert steps.done == 0
    assert states(whole).keys() == {"one-0", "one-1"}


def same_end(folder: Path, whole: Path) -> None:
    """Whether no experiment is lost, and none counted twice."""
    assert (
        states(folder)
        == states(whole)
        == {"one-0": ExperimentState.FAILED, "one-1": ExperimentState.KEPT}
    )
    for id in ("one-0", "one-1"):
        ours, theirs = (known(f).named(id) for f in (folder, whole))
        assert ours.experiment.effect == theirs.experiment.effect
        assert ours.experiment.reason == theirs.experiment.reason
    fixed = (Purpose.DEMONSTRATION, Purpose.COLLECTION)
    assert ids(folder, *fixed) == ids(whole, *fixed)
    with Run.open(folder) as run, Run.open(whole) as other:
        assert [check for check in audit(run) if not check.holds] == []
        (sealed,) = run.ledger.sealed()
        assert len(ids(folder, Purpose.SEALED)) == sealed.trials >= TINY.evaluation.sealed_episodes
        assert [(r.number, r.policy) for r in run.ledger.rounds()] == [
            (r.number, r.policy) for r in other.ledger.rounds()
        ]
        told = [n.kind for n in run.ledger.decisions() if n.kind in FINAL]
        assert sorted(told) == [ExperimentState.FAILED, ExperimentState.KEPT]
        assert len(run.ledger.policies()) == 2
        assert {p.name: p.state for p in run.ledger.policies()}["one-1"] == "incumbent"
