"""One line about a run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from enpire.observe import account
from enpire.rollout.evaluation.sealed import Sealed
from enpire.store import Run, under_way
from enpire.store.layout import CONFIG
from enpire.types import Estimate, Purpose

INTERRUPTED = "interrupted"  # state of a run that can go on


@dataclass(frozen=True, slots=True)
class Overview:
    """A run at a glance. robot_s: sealed evaluations apart [s]; sealed: what `success` is of."""

    folder: Path
    task: str
    seed: int
    state: str
    success: Estimate
    sealed: bool
    rounds: int
    robot_s: float

    def as_json(self) -> dict[str, Any]:
        """Return it as plain values."""
        return {
            "run": str(self.folder),
            "task": self.task,
            "seed": self.seed,
            "state": self.state,
            **account.as_json(self.success),
            "sealed": self.sealed,
            "rounds": self.rounds,
            "robot_hours": self.robot_s / 3600,
        }


def overview(run: Run) -> Overview:
    """What the ledger of `run` says of it; keys that its configuration lacks are left open."""
    settings, ledger = run.asked, run.ledger
    good = sealed_of(run).passing
    incumbent = account.incumbent(ledger)
    return Overview(
        folder=run.folder,
        task=settings.get("task", "?"),
        seed=settings.get("seed", 0),
        state=state(run),
        success=good[-1].success if good else account.evaluations(ledger, incumbent),
        sealed=bool(good),
        rounds=max((row.number for row in ledger.rounds()), default=0),
        robot_s=ledger.episode_seconds(Purpose.SEALED)[1],
    )


def sealed_of(run: Run) -> Sealed:
    """Return the sealed evaluations of `run`, under what it was asked for."""
    settings = run.asked
    return Sealed(run.ledger, settings.get("target", 1.0), settings.get("sealed_episodes", 1))


def state(run: Run) -> str:
    """How the run ended, `running`, or `killed` when its process is gone without a word."""
    return state_by(run.ledger.facts(), under_way(run.folder))


def state_by(facts: Mapping[str, str], live: bool) -> str:
    """See `state`, by the facts of a ledger; live: a process writes the run."""
    said = facts.get("state", "unknown")
    return "killed" if said == "running" and not live else said


def why_ended(folder: Path) -> str:
    """Why the run in a folder has come to an end of its own; empty where it can go on, or is none.

    An end of its own is the target, a budget, or a failure.
    """
    if not (folder / CONFIG).is_file():
        return ""
    with Run.open(folder) as run:
        said = state(run)
    return "" if said in ("killed", "running", INTERRUPTED, "unknown") else said
