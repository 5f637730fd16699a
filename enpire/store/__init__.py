"""Durable record of a run: episodes (zarr), ledger (SQLite), policies (safetensors)."""

from enpire.store.branch import branch
from enpire.store.rows import (
    EpisodeRow,
    EventRow,
    Interval,
    LogEntry,
    Phase,
    PolicyRow,
    RoundRow,
    SealedRow,
)
from enpire.store.run import Run
from enpire.store.run_folder import default_folder, is_run, under_way
from enpire.store.writer import EpisodeWriter

__all__ = [
    "EpisodeRow",
    "EpisodeWriter",
    "EventRow",
    "Interval",
    "LogEntry",
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
