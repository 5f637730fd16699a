"""A small campaign that has ended, to be looked at and to be tampered with."""

from __future__ import annotations

from pathlib import Path

from enpire.evolution.campaign import campaign as campaigns
from enpire.evolution.campaign import report
from enpire.evolution.experiments import unbiased_estimate
from enpire.store import Run

from .moving import FAST, SLOW, go

ENOUGH = 8
PLAN = {"one": [-1.0, FAST], "two": [SLOW]}


def finish(folder: Path) -> None:
    """Run it to its end, and close it as the command line does."""
    kept = unbiased_estimate.ENOUGH, campaigns.LOOK_S
    unbiased_estimate.ENOUGH, campaigns.LOOK_S = ENOUGH, 0.0
    try:
        go(folder, PLAN)
        with Run.open(folder, writable=True) as run:
            run.ledger.set_facts({"state": "reached"})
            report.write(run)
    finally:
        unbiased_estimate.ENOUGH, campaigns.LOOK_S = kept
