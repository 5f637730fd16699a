"""Durable record of a run: episodes (zarr), ledger (SQLite), policies (safetensors)."""

from enpire.store.branch import branch
from enpire.store.rows import (
    Decision,
    EpisodeRow,
    EventRow,
    Interval,
    Phase,
    PolicyRow,
    RoundRow,
    SealedRow,
)
from enpire.store.run import Run, default_folder, is_run, under_way
from enpire.store.writer import EpisodeWriter

__all__ = [
    "Decision",
    "EpisodeRow",
    "EpisodeWriter",
    "EventRow",
    "Interval",
    "Phase",
    "PolicyRow",
    "RoundRow",
    "Run",
    "SealedRow",
    "branch",
    "default_folder",
    "is_run",
    "under_way",
]
