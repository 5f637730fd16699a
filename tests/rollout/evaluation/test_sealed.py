"""Sealed evaluations as a run has them: jobs one after the other, the same verdict when resumed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from enpire.rollout.evaluation.sealed import SEALING, PointRule, Sealed, SealedExamination
from enpire.rollout.evaluation.sealed_rule import SealedRule, SealedVerdict
from enpire.store import LogEntry, Run, SealedRow
from enpire.types import Episode, Outcome, Purpose, Verdict
from tests.store.samples import episode

NOBODY: Any = None
FAILED = Verdict(Outcome.FAILURE)


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Run]:
    with Run.create(tmp_path / "run", {"loop": {"task": "t"}}) as made:
        yield made


def outcome(examination: SealedExamination, number: int, failing: Callable[[int], bool]) -> Episode:
    """What a station makes of the job of this number."""
    verdict = {"verdict": FAILED} if failing(number) else {}
    return episode(examination.job(number).id, 1, purpose=Purpose.SEALED, **verdict)


def carry_out(
    examination: SealedExamination,
    failing: Callable[[int], bool],
    known: dict[str, Episode],
    stations: int = 1,
    episodes: int = 10**6,
) -> None:
    """Have its jobs run on several stations, of which the last one ends its episode first."""
    numbers = {examination.job(n).id: n for n in range(examination.rule.most)}
    due, under_way, done = examination.due(known), [], 0
    while done < episodes:
        try:
            while len(under_way) < stations and (job := next(due)) is not None:
                under_way.append(job)
        except StopIteration:
            due = iter(())
        if not under_way:
            return
        ended = under_way.pop()
        known[ended.id] = outcome(examination, numbers[ended.id], failing)
        done += 1


@pytest.mark.parametrize("stations", [1, 3])
def test_an_evaluation_goes_on_while_it_is_open(run: Run, stations: int) -> None:
    sealed = Sealed(run.ledger, 0.9, 10)
    examination = sealed.begin("policy-0", NOBODY, 0)
    known: dict[str, Episode] = {}
    carry_out(examination, {8, 17}.__contains__, known, stations)
    row = sealed.close(examination, known)
    assert (row.successes, row.trials) == (47, 49)
    assert len(known) == 49, "no more than were needed"
    assert sealed.passed(row)
    assert sealed.passing == [row]
    assert sealed.rule(1).verdict(2, 48) is SealedVerdict.OPEN
    assert sealed.text(row).startswith("attempt 1, reached: 0.959 [")
    assert sealed.text(row).endswith(f"of 49, at least {sealed.at_least(row):.3f}")
    assert 0.85 <= sealed.at_least(row) < 0.959


def test_one_that_was_cut_short_comes_to_the_same_verdict(run: Run, tmp_path: Path) -> None:
    def failing(number: int) -> bool:
        return number in {3, 20, 21, 40, 45, 60}

    whole = Sealed(run.ledger, 0.9, 10)
    examination = whole.begin("policy-0", NOBODY, 0)
    known: dict[str, Episode] = {}
    carry_out(examination, failing, known, 3)
    expected = examination.row(known)
    assert expected.trials > 27
    for after in (1, 20, 30, expected.trials - 1):
        again: dict[str, Episode] = {}
        carry_out(whole.begin("policy-0", NOBODY, 0), failing, again, 3, after)
        assert whole.under_way == "policy-0"
        failed = sum(not episode.success for episode in again.values())
        assert examination.counts(again) == (failed, after), "what is shown goes on from there"
        carry_out(whole.begin("policy-0", NOBODY, 0), failing, again, 2)
        assert examination.row(again) == expected


def test_episodes_under_way_when_it_was_missed_change_nothing(run: Run) -> None:
    examination = Sealed(run.ledger, 0.9, 10).begin("policy-0", NOBODY, 0)
    known: dict[str, Episode] = {}
    carry_out(examination, lambda number: number < 3, known, 6)
    assert len(known) > 3
    assert (examination.row(known).successes, examination.row(known).trials) == (0, 3)


def test_a_later_attempt_has_to_show_more(run: Run) -> None:
    sealed = Sealed(run.ledger, 0.9, 10)
    least = []
    for attempt in (1, 2, 3):
        examination = sealed.begin(f"policy-{attempt}", NOBODY, attempt)
        least.append(examination.rule.soonest(0))
        known: dict[str, Episode] = {}
        carry_out(examination, lambda number: True, known)
        assert not sealed.passed(sealed.close(examination, known))
    assert least == [27, 37, 44]
    alphas = [n.numbers["alpha"] for n in run.ledger.decisions() if n.kind == SEALING]
    assert alphas == pytest.approx([0.1 / 2, 0.1 / 6, 0.1 / 12])


def test_nobody_takes_the_seeds_that_were_drawn_for_another(run: Run) -> None:
    sealed = Sealed(run.ledger, 0.9, 10)
    sealed.begin("policy-1", NOBODY, 1)
    with pytest.raises(ValueError, match="policy-1 is under way"):
        sealed.begin("policy-0", NOBODY, 1)


# Runs made before


def old_note(attempt: int, policy: str) -> LogEntry:
    numbers = {"attempt": attempt, "entropy": 7}
    return LogEntry(
        0, SEALING, f"{policy} is frozen; its sealed seeds are drawn", policy, "", numbers
    )


def test_evaluations_of_earlier_versions_keep_their_verdicts(run: Run) -> None:
    sealed = Sealed(run.ledger, 0.99, 300)
    rows = [
        SealedRow(1, "policy-0", 7, 296, 300, 0.97, 0.99),
        SealedRow(2, "policy-1", 7, 200, 205, 0.94, 0.99),  # ended when it was out of reach
        SealedRow(3, "policy-2", 7, 297, 300, 0.971, 0.998),
    ]
    for row in rows:
        run.ledger.add_decision(old_note(row.attempt, row.policy))
        run.ledger.add_sealed(row)
    assert sealed.passing == rows[2:]
    assert sealed.text(rows[2]) == "attempt 3, reached: 0.990 [0.971, 0.998] of 300, at least 0.971"
    assert sealed.text(rows[0]).startswith("attempt 1, missed: 0.987")


def test_one_that_an_earlier_version_began_ends_by_its_rule_and_the_next_by_ours(run: Run) -> None:
    sealed = Sealed(run.ledger, 0.9, 10)
    run.ledger.add_decision(old_note(1, "policy-0"))
    examination = sealed.begin("policy-0", NOBODY, 0)
    assert examination.rule == PointRule(0.9, 10)
    known: dict[str, Episode] = {}
    carry_out(examination, {1, 5}.__contains__, known)
    row = sealed.close(examination, known)
    assert (row.successes, row.trials) == (4, 6)
    assert not sealed.passed(row)
    later = sealed.begin("policy-1", NOBODY, 1)
    assert later.rule == SealedRule.of(0.9, 10, 2), "what was tried before is counted"


def test_an_interrupted_old_evaluation_does_not_pass(run: Run) -> None:
    sealed = Sealed(run.ledger, 0.9, 10)
    assert not sealed.passed(SealedRow(1, "p", 7, 4, 4, 0.4, 1.0))
    assert sealed.passed(replace(SealedRow(1, "p", 7, 4, 4, 0.4, 1.0), successes=10, trials=10))
