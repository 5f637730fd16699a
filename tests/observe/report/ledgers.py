"""Runs for reports, written by hand: their ledgers say everything, their batches hold nothing."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from enpire.store import Interval, LogEntry, Phase, RoundRow, Run, SealedRow
from enpire.types import Episode, Outcome, Predicate, Purpose, Times, Verdict
from tests.store.samples import episode

STATIONS = 4
SETTINGS = {
    "task": "pick_cube",
    "robots": STATIONS,
    "seed": 7,
    "target": 0.9,
    "sealed_episodes": 10,
    "recipe": "heuristic",
}
PLAN = (
    # purpose, policy, round, episodes, chance of success
    (Purpose.DEMONSTRATION, "demonstrator", 0, 2, 1.0),
    (Purpose.EVALUATION, "policy-0", 0, 10, 0.5),
    (Purpose.COLLECTION, "policy-1.0", 1, 15, 0.5),
    (Purpose.COLLECTION, "policy-1.1", 1, 15, 0.8),
    (Purpose.EVALUATION, "policy-0", 1, 6, 0.5),
    (Purpose.EVALUATION, "policy-1", 1, 16, 0.8),
    (Purpose.EVALUATION, "policy-2", 2, 10, 0.6),
    (Purpose.SEALED, "policy-1", 1, 26, 0.95),
)


def write_run(folder: Path, scale: int = 1) -> Run:
    """Make a run with two rounds and a sealed evaluation, `scale` hundred episodes; open it.

    Its episodes have rows in the ledger and no arrays: what a report reads must not need them.
    """
    run = Run.create(folder, {"loop": SETTINGS})
    rng = np.random.default_rng(0)
    clocks = [0.0] * STATIONS
    robot_s = 0.0
    for at, (purpose, policy, number, count, chance) in enumerate(PLAN):
        made: list[Episode] = []
        spent: list[Interval] = []
        for k in range(count * scale):
            one = _episode(f"{at}-{k}", purpose, policy, number, k % STATIONS, chance, rng)
            made.append(one)
            clocks[one.station] = _work(one, clocks[one.station], spent)
            robot_s += one.times.total if purpose is not Purpose.SEALED else 0.0
        path = f"episodes/{at + 1:08d}"
        (folder / path).mkdir()
        run.ledger.add_batch(path, "0" * 64, 1, made, spent)
        if (policy, number) in (("policy-1", 1), ("policy-2", 2)) and at < 7:
            good = sum(e.success for e in made) if number == 1 else 13 * scale
            run.ledger.put_round(
                RoundRow(number, "policy-1", good, 16 * scale, 0.6, 0.95, robot_s, 60.0 * number)
            )
    _decide(run)
    run.ledger.add_sealed(SealedRow(1, "policy-1", 5, 25 * scale, 26 * scale, 0.81, 0.99))
    run.ledger.set_facts({"state": "reached", "wall_s": "120.0", "verified_by": "sensors only"})
    return run


def _episode(
    id: str,
    purpose: Purpose,
    policy: str,
    number: int,
    station: int,
    chance: float,
    rng: np.random.Generator,
) -> Episode:
    good = rng.random() < chance
    height = float(rng.uniform(61, 70) if good else rng.uniform(0, 59))
    lifted = Predicate("lifted", height, 60.0, "mm")
    held = Predicate("in_hand", 5.0 if good or height > 30 else 12.0, 8.0, "mm", at_least=False)
    outcome = Outcome.SUCCESS if good else Outcome.FAILURE
    stage = "held" if good else "on_bench" if height < 30 else "in_hand"
    verdict = Verdict(outcome, (lifted, held), float(good), stage, "" if good else "not lifted")
    values: dict[str, Any] = {
        "seed": int(rng.integers(2**62)),
        "purpose": purpose,
        "policy": policy,
        "round": number,
        "station": station,
        "verdict": verdict,
        "times": Times(0.5, float(rng.uniform(1.5, 5.0)), 0.5),
    }
    return episode(id, 1, **values)


def _work(one: Episode, clock: float, intervals: list[Interval]) -> float:
    """Add what a station did for an episode, and half a second of idleness."""
    parts = (
        (Phase.RESET, one.times.reset),
        (Phase.EXECUTE, one.times.execute),
        (Phase.VERIFY, one.times.verify),
        (Phase.IDLE, 0.5),
    )
    for phase, seconds in parts:
        id = "" if phase is Phase.IDLE else one.id
        intervals.append(Interval(one.station, phase, clock, clock + seconds, id))
        clock += seconds
    return clock


def _decide(run: Run) -> None:
    tensors = {"weight": np.zeros(1, np.float32)}
    lines: Sequence[tuple[str, str, str, int]] = (
        ("policy-0", "", "bc", 0),
        ("policy-1", "policy-0", "heuristic", 1),
        ("policy-2", "policy-1", "heuristic", 2),
    )
    for name, parent, recipe, number in lines:
        run.save_policy(name, tensors, {}, parent=parent, recipe=recipe, round=number)
    add = run.ledger.add_decision
    add(LogEntry(1, "promoted", "better on 9 of 12 seeds", "policy-0", "policy-1"))
    add(LogEntry(1, "stop", "station 2: a wrist felt 48 N"))
    add(LogEntry(2, "kept", "better on 2, worse on 4", "policy-1", "policy-2"))
    add(LogEntry(2, "sealed", "policy-1, <25 of 26> & reached", "policy-1", ""))
