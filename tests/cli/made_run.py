"""A small run of a loop with one of everything, made without a station, to be damaged."""

from __future__ import annotations

from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from enpire.environment.core.jobs import episode_id
from enpire.observe.result import result
from enpire.rollout.evaluation.paired_comparison import PairedComparison
from enpire.rollout.evaluation.sealed import Sealed
from enpire.rollout.evaluation.seeds import stream
from enpire.store import Interval, LogEntry, Phase, RoundRow, Run
from enpire.store.stress import keep_stress
from enpire.types import Episode, Frame, Outcome, Purpose, Verdict
from tests.store.samples import episode

SETTINGS = {
    "task": "reach",
    "robots": 2,
    "seed": 7,
    "target": 0.5,
    "sealed_episodes": 6,
    "alpha": 0.05,
    "max_pairs": 100,
    "target_bound": "point",
}
STRESSED = {"policy": "policy-1", "verified_by": "sensors only", "points": [{"point": "nominal"}]}
MEASURED = {"task": "reach", "sha256": "ab", "packs": {}, **STRESSED}


def made(folder: Path) -> Path:
    """Demonstrations, two policies, a comparison, a sealed evaluation, a result; then closed."""
    with Run.create(folder, {"enpire": "0.1.0", "loop": SETTINGS}) as run:
        run.ledger.set_facts({"state": "running", "packs": "{}"})
        run.save_policy("policy-0", {"w": np.zeros(3)}, {"kind": "chunk"}, state="incumbent")
        seeds = list(islice(stream(7, "start", 0), 2))
        _add(run, [_episode(Purpose.EVALUATION, 0, "policy-0", seed, False) for seed in seeds])
        run.save_policy("policy-1", {"w": np.ones(3)}, {"kind": "chunk"}, parent="policy-0")
        _compare(run)
        run.ledger.put_round(RoundRow(1, "policy-1", 6, 6, 0.5, 1.0, 10.0, 20.0))
        run.ledger.set_policy_state("policy-1", "incumbent")
        _examine(run)
        keep_stress(folder, "policy-1", MEASURED)
        run.ledger.set_facts({"state": "reached"})
        run.write_result(result(run, "reached"))
    return folder


def _episode(purpose: Purpose, number: int, policy: str, seed: int, success: bool) -> Episode:
    image = np.full((3, 4, 3), seed % 200, np.uint8)
    frames = (Frame("front", image),) if purpose is Purpose.SEALED else ()
    outcome = Outcome.SUCCESS if success else Outcome.FAILURE
    changes: dict[str, Any] = {"seed": seed, "purpose": purpose, "policy": policy, "round": number}
    verdict = Verdict(outcome, (), float(success), "done", "ok", frames=frames)
    return episode(
        episode_id(purpose, number, policy, seed), 3, verdict=verdict, packs={}, **changes
    )


def _add(run: Run, episodes: list[Episode]) -> None:
    at = len(run.ledger.episodes()) * 10.0
    phases = ((Phase.RESET, 0.0, 1.0), (Phase.EXECUTE, 1.0, 3.0), (Phase.VERIFY, 3.0, 3.5))
    spent = [
        Interval(0, phase, at + 5 * n + start, at + 5 * n + end, one.id)
        for n, one in enumerate(episodes)
        for phase, start, end in phases
    ]
    run.add_episodes(episodes, spent)


def _compare(run: Run) -> None:
    nobody: dict[str, Any] = {"policy-1": None, "policy-0": None}
    match = PairedComparison("policy-1", "policy-0", nobody, 1, stream(7, "compare", 1), 0.05, 100)
    pair = []
    for job in match.jobs():
        pair.append(_episode(job.purpose, 1, job.policy, job.seed, job.policy == "policy-1"))
        match.add(pair[-1])
        if len(pair) == 2:
            _add(run, pair)
            pair = []
    if pair:
        _add(run, pair)
    record = match.record
    counts = {"wins": record.wins, "losses": record.losses, "ties": record.ties}
    text = "policy-1 against policy-0"
    run.ledger.add_decision(LogEntry(1, "promoted", text, "policy-0", "policy-1", counts))


def _examine(run: Run) -> None:
    sealed = Sealed(run.ledger, SETTINGS["target"], SETTINGS["sealed_episodes"])  # type: ignore[arg-type]
    examination = sealed.begin("policy-1", None, 1)  # type: ignore[arg-type]
    known: dict[str, Episode] = {}
    for job in examination.due(known):
        if job is None:
            raise ValueError("every job is answered at once")
        known[job.id] = _episode(job.purpose, job.round, job.policy, job.seed, True)
    _add(run, list(known.values()))
    sealed.close(examination, known)
