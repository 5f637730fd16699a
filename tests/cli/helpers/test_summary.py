from __future__ import annotations

from pathlib import Path
from typing import Any

from enpire.cli.helpers.summary import summary
from enpire.observe.throughput import throughput
from enpire.store import LogEntry, PolicyRow, RoundRow, Run
from enpire.types import Outcome, Purpose, Verdict
from tests.store.samples import episode

MEASURED = {"success": 0.5, "n": 2, "ci95": (0.01, 0.99), "sealed": False}
FIGURES: dict[str, Any] = {
    "task": "t",
    "start": MEASURED,
    "final": MEASURED,
    "verified_by": "sensors only",
    "target": 0.99,
    "reached": False,
    "rounds": 0,
    "episodes": 6,
    "sealed_attempts": 0,
    "robot_hours": 5.0,
    "robot_hours_sealed": 0.0,
    "mru": 0.9,
    "at_work": 0.9,
    "wall_s": 60.0,
    "stations_apart": [],
    "speed": throughput([10.0, 20.0], [True, False]).as_json(),
    "ended": "--max-robot-hours is used up (5.00 h)",
}
WON, LOST = Verdict(Outcome.SUCCESS), Verdict(Outcome.FAILURE)
UNDECIDED = "undecided yet: policy-1 with 2 of 3, policy-0 with 1 of 3"


def test_a_comparison_that_was_cut_short_is_said(tmp_path: Path) -> None:
    with Run.create(tmp_path, {"loop": {"task": "t"}}) as run:
        for number, name in enumerate(("policy-0", "policy-1")):
            run.ledger.add_policy(PolicyRow(name, "", f"{name}.npz", round=number))
        assert UNDECIDED not in summary(run, FIGURES, "again"), "nothing is compared"
        told: dict[str, Any] = {"round": 1, "purpose": Purpose.EVALUATION}
        outcomes = {"policy-0": (WON, LOST, LOST), "policy-1": (WON, WON, LOST)}
        episodes = [
            episode(f"{name}-{i}", policy=name, verdict=verdict, **told)
            for name, verdicts in outcomes.items()
            for i, verdict in enumerate(verdicts)
        ]
        run.add_episodes(episodes, [])
        assert UNDECIDED in summary(run, FIGURES, "again").splitlines()
        kept = LogEntry(1, "kept", "", "policy-0", "policy-1")
        run.ledger.add_decision(kept)
        run.ledger.put_round(RoundRow(1, "policy-0", 1, 3))
        assert "undecided" not in summary(run, FIGURES, "again")


def test_what_may_be_claimed_is_said_of_a_target_that_is_reached(tmp_path: Path) -> None:
    final = MEASURED | {"success": 0.993, "n": 610, "attempt": 2, "at_least": 0.986, "sealed": True}
    with Run.create(tmp_path, {"loop": {"task": "t"}}) as run:
        said = summary(run, FIGURES | {"final": final, "reached": True}, "again").splitlines()
        missed = summary(run, FIGURES, "again").splitlines()
    assert any(
        line.startswith("target 0.99 reached: 0.993, at least 0.986, attempt 2;") for line in said
    )
    assert any(line.startswith("target 0.99 not reached;") for line in missed)
    (speed,) = (line for line in said if line.startswith("time to success"))
    assert "half within 10.0 [0.0, -] s" in speed
    assert "successes per robot-hour 120 [" in speed
