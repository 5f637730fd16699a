"""What a tracker is told of a run beside its scalars, and under what name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

from enpire.store import Run

PROJECT = "enpire"
TRACK_ID = "track_id"  # fact of a ledger


@dataclass(frozen=True, slots=True)
class TrackedRun:
    """A run as trackers know it."""

    folder: Path  # of the run
    id: str  # that no other run has; a run that goes on has the same one
    settings: Mapping[str, str]  # what the run was asked for, as text by name

    @property
    def name(self) -> str:
        """What a person reads; two runs may have folders of one name, so the id is part of it."""
        return f"{self.folder.resolve().name}-{self.id[:8]}"


def tracked_run(run: Run) -> TrackedRun:
    """Return a run's identity, which is recorded when it is first asked for.

    Raises:
        StoreError: the run is not open for writing, or its disk is full.
    """
    id = run.ledger.facts().get(TRACK_ID)
    if id is None:
        id = uuid4().hex
        run.ledger.set_facts({TRACK_ID: id})
    settings = {name: str(value) for name, value in run.asked.items()}
    return TrackedRun(run.folder, id, settings)
