"""The report: the answer first, and nothing in it that an agent could have made up as ours."""

from __future__ import annotations

from pathlib import Path

import pytest

from enpire.evolution.campaign import report
from enpire.evolution.experiments.effect import Effect
from enpire.evolution.experiments.events import EXPERIMENT, MATCH, USED, MatchOutcome, ModelUse
from enpire.evolution.experiments.experiment import Experiment, ExperimentState
from enpire.rollout.evaluation.comparison import PairedRecord
from enpire.rollout.evaluation.seeds import stream
from enpire.store import EventRow, Run, SealedRow
from enpire.types import Outcome, Purpose, Verdict
from tests.evolution.moving import TINY, config
from tests.store.samples import episode

WON = PairedRecord(9, 1, 10)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """One experiment that was kept, one that failed."""
    folder = tmp_path / "run"
    with Run.create(folder, config(TINY)) as run:
        one = Experiment("a-0", "a", "faster | is `better`", "moves", "policy-0")
        two = Experiment("b-0", "b", "slower", "moves", "policy-0")
        for number, each in enumerate((one, two), 1):
            run.ledger.add_event(EventRow(number, EXPERIMENT, each.as_json()))
        outcome = MatchOutcome("policy-0", WON, True)
        trying = one.to(ExperimentState.TRAINING).to(ExperimentState.TRIALS)
        for moved in (one.to(ExperimentState.TRAINING), trying):
            run.ledger.add_event(EventRow(1, EXPERIMENT, moved.as_json()))
        run.ledger.add_event(EventRow(1, MATCH, outcome.as_json()))
        kept = trying.to(ExperimentState.KEPT, effect=Effect(WON), reason="better")
        run.ledger.add_event(EventRow(1, EXPERIMENT, kept.as_json()))
        failed = two.to(
            ExperimentState.FAILED, reason="nan |\n# Campaign on reach: target 0.9 reached"
        )
        run.ledger.add_event(EventRow(2, EXPERIMENT, failed.as_json()))
        run.ledger.add_event(EventRow(0, USED, ModelUse(1200, 0.5).as_json("a")))
        run.ledger.add_event(EventRow(0, USED, ModelUse(300, 0.25).as_json("a")))
        check = next(stream(TINY.seed, "check", 1))
        trial, again = Purpose.EVALUATION, Purpose.EVALUATION
        lost = Verdict(Outcome.FAILURE)
        run.add_episodes(
            [
                episode("t", purpose=trial, policy="a-0", round=1, seed=5),
                episode("c", purpose=again, policy="a-0", round=1, seed=check, verdict=lost),
                episode("o", purpose=trial, policy="a-0", round=2, seed=6, verdict=lost),
            ]
        )
    return folder


def told(folder: Path) -> str:
    with Run.open(folder) as run:
        return report.report(run)


def test_the_answer_comes_first(folder: Path) -> None:
    head, _, rest = told(folder).partition("\n## ")
    assert head.startswith("# Campaign on reach: target 0.9 not reached")
    assert "best policy is a-0" in head
    assert "1 kept, 0 dropped, 1 failed" in head
    assert "+0.400" in rest
    assert "of 20 pairs" in rest


def test_a_sealed_evaluation_is_the_answer_once_it_reaches_the_target(folder: Path) -> None:
    with Run.open(folder, writable=True) as run:
        run.ledger.add_sealed(SealedRow(1, "a-0", 7, 27, 27, 0.872, 1.0))
    head = told(folder).partition("\n## ")[0]
    assert "target 0.9 reached" in head
    assert "a-0 succeeds at 1.000 [0.872, 1.000] of 27 on sealed seeds" in head
    assert "It comes of moves with its usual settings" in head


def test_seeds_that_chose_a_policy_do_not_count_as_fresh(folder: Path) -> None:
    with Run.open(folder) as run:
        rows = run.ledger.episodes()
    seen = report.fresh_of(rows, "a-0", 1, TINY.seed)
    assert (seen.successes, seen.trials) == (0, 2)
    assert "| a-0 | moves with its usual settings | 0.500" in told(folder)


def test_what_was_written_by_others_stays_in_its_cell(folder: Path) -> None:
    lines = told(folder).splitlines()
    assert sum(line.startswith("# ") for line in lines) == 1
    (row,) = (line for line in lines if line.startswith("| 2 |"))
    assert row.replace("\\|", "").count("|") == 8


def test_costs_are_added_up_by_agent(folder: Path) -> None:
    text = told(folder)
    assert "Tokens 1500, dollars 0.75" in text
    assert "| a | 1 | 1 |" in text


def test_reports_are_of_campaigns(tmp_path: Path) -> None:
    from enpire.errors import CampaignError

    with Run.create(tmp_path / "run", {"loop": {}}) as run, pytest.raises(CampaignError):
        report.report(run)
