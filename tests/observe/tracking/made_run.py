"""A run with one of everything that is a scalar, made without a station."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from enpire.store import LogEntry, RoundRow, Run, SealedRow
from enpire.store.curves import CurveWriter, learner_curve, training_curve
from enpire.types import Episode, Outcome, Purpose, Times, Verdict
from tests.store.samples import episode

SETTINGS = {"task": "reach", "start_episodes": 10}
EPISODE_S = 10.0


def episodes(purpose: Purpose, policy: str, number: int, good: int, of: int) -> list[Episode]:
    """Return episodes of which the first `good` succeed."""
    some = []
    for i in range(of):
        outcome = Outcome.SUCCESS if i < good else Outcome.FAILURE
        about: dict[str, Any] = {"purpose": purpose, "policy": policy, "round": number}
        times = Times(3.0, 5.0, 2.0)
        id = f"{purpose}-{policy}-{number}-{i}"
        some.append(episode(id, 2, verdict=Verdict(outcome), times=times, staleness=i % 2, **about))
    return some


def begin(folder: Path, further: Mapping[str, Any] = MappingProxyType({})) -> Run:
    """Return a run, open for writing, with its first policy measured; further: of its config."""
    run = Run.create(folder, {"loop": SETTINGS, **further})
    run.save_policy("policy-0", {"w": np.zeros(3)}, {"kind": "chunk"})
    curve = CurveWriter(training_curve(folder, 0))
    for step in range(0, 151, 50):
        curve.add("policy", step, {"loss": float(np.float32(1.0 / (step + 3)))})
    run.add_episodes(episodes(Purpose.EVALUATION, "policy-0", 0, 4, 10))
    return run


def go_on(run: Run) -> None:
    """Have a round of it: collection, a learner's versions, a candidate, an examination."""
    for part in range(3):
        run.add_episodes(episodes(Purpose.COLLECTION, f"policy-1.{part}", 1, 30, 50))
    curve = CurveWriter(learner_curve(run.folder, 1))
    for version in (1, 2, 3):
        curve.add("online", version, {"value": 0.25 * version})
    run.save_policy("policy-1", {"w": np.ones(3)}, {"kind": "chunk"}, round=1)
    run.add_episodes(episodes(Purpose.EVALUATION, "policy-1", 1, 9, 10))
    run.ledger.add_decision(LogEntry(1, "promoted", "", "policy-0", "policy-1"))
    run.ledger.put_round(RoundRow(1, "policy-1", 9, 10, 0.6, 0.98, 1700.0, 60.0))
    run.add_episodes(episodes(Purpose.SEALED, "policy-1", 1, 19, 20))
    run.ledger.add_sealed(SealedRow(1, "policy-1", 7, 19, 20, 0.75, 0.99))
