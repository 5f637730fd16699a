"""The verifier's verdicts beside the truth, wherever a twin was asked for it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from enpire.certification import certificate
from enpire.errors import EnpireError
from enpire.rollout.evaluation.statistics import Confusion
from enpire.store import Run
from enpire.store.stress import read_stress

AUDITED = {"true_failures", "false_successes", "false_failures"}  # of a row, beside `audited`


@dataclass(frozen=True, slots=True)
class VerifierAudit:
    """A confusion matrix, and where it was measured."""

    source: str
    confusion: Confusion


def read_audits(run: Run) -> tuple[VerifierAudit, ...]:
    """Return what is known of the errors of a run's verifier.

    There are two sources. The task's certificate counts if it was made for the very packs of the
    run. Stress tests of the run's policies ask the simulator after each of their episodes.
    """
    audits = []
    packs = run.ledger.packs()
    try:
        known = certificate.audit(str(run.asked.get("task", "")), packs)
    except EnpireError:
        known = None
    if known is not None:
        audits.append(VerifierAudit("the task's certificate, for these packs, by sensors", known))
    for policy, measured in read_stress(run.folder).items():
        total = sum((_of_point(point) for point in measured["points"]), Confusion())
        if total.trials:
            audits.append(VerifierAudit(f"stress test of {policy}", total))
    return tuple(audits)


def _of_point(point: Mapping[str, Any]) -> Confusion:
    """Return the matrix that a row of a stress test gives; an empty one if nothing was audited."""
    if not point.get("audited") or not point.keys() >= AUDITED:
        return Confusion()
    successes = point["audited"] - point["true_failures"]
    return Confusion(
        successes - point["false_failures"],
        point["false_successes"],
        point["false_failures"],
        point["true_failures"] - point["false_successes"],
    )
