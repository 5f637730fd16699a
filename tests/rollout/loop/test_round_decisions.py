"""What is known of a policy when a round decides."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from enpire.rollout.evaluation.statistics import estimate
from enpire.rollout.loop.round_decisions import RoundDecisions
from enpire.store.rows import SealedRow
from enpire.types import Outcome, Purpose, Verdict
from tests.store.samples import episode


def test_a_missed_sealed_evaluation_counts_against_the_luck_that_led_to_it() -> None:
    judged = [episode(f"e{i}", 4, purpose=Purpose.EVALUATION, round=0) for i in range(19)]
    lost = episode("e19", 4, purpose=Purpose.EVALUATION, verdict=Verdict(Outcome.FAILURE), round=0)
    rows = [
        SealedRow(1, "policy-0", 7, successes=37, trials=40, low=0.8, high=1.0),
        SealedRow(2, "policy-1", 8, successes=1, trials=99, low=0.0, high=0.1),
    ]
    ledger: Any = SimpleNamespace(decisions=list, sealed=lambda: rows)
    known: Any = SimpleNamespace(evaluations=lambda name: [*judged, lost])
    settings: Any = SimpleNamespace(seed=0)
    found = RoundDecisions(ledger, SimpleNamespace(), known, settings).measured("policy-0", 0)  # type: ignore[arg-type]
    assert (found.successes, found.trials) == (19 + 37, 20 + 40)


@pytest.mark.parametrize(
    ("demonstrator", "pushes", "successes", "hinted"),
    [("a.py", 0.0, 1, 1), ("a.py", 0.0, 8, 0), ("a.py", 0.2, 1, 0), ("", 0.0, 1, 0)],
)
def test_a_weak_first_policy_of_a_script_has_a_hint_once(
    demonstrator: str, pushes: float, successes: int, hinted: int
) -> None:
    notes: list[Any] = []
    ledger: Any = SimpleNamespace(decisions=lambda: notes, add_decision=notes.append)
    writer: Any = SimpleNamespace(flush=lambda: None)
    settings: Any = SimpleNamespace(
        environment=SimpleNamespace(demonstrator=demonstrator),
        first=SimpleNamespace(demonstrator_pushes=pushes),
    )
    known: Any = SimpleNamespace()
    decisions = RoundDecisions(ledger, writer, known, settings)
    for _ in range(2):
        decisions.hint("policy-0", estimate(successes, 10))
    assert len(notes) == hinted
    assert all("--demonstrator-pushes" in note.text for note in notes)
