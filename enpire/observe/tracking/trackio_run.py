"""A run's scalars in Trackio: in its folder on this machine, which `trackio show` reads."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from enpire.observe.tracking.identity import PROJECT, TrackedRun
from enpire.observe.tracking.scalars import Key, Scalar
from enpire.observe.tracking.sent_file import SentFile

TOLD = "trackio-told.jsonl"  # in the folder of a run, where its scalars go to a server
SERVERS = ("TRACKIO_SPACE_ID", "TRACKIO_SERVER_URL")  # in the environment, by Trackio's convention


class TrackioRun:
    """See `Tracker`."""

    def __init__(self, run: TrackedRun) -> None:
        """Begin, or go on with, the run of this name in Trackio's project."""
        import trackio

        remote = any(os.environ.get(name) for name in SERVERS)
        self._told = SentFile(run.folder / TOLD) if remote else None
        self._run: Any = trackio.init(
            PROJECT,
            name=run.name,
            config=dict(run.settings),
            resume="allow",
            embed=False,
            auto_log_gpu=False,
            auto_log_cpu=False,
        )

    def known_keys(self) -> set[Key]:
        """See `Tracker`: as Trackio's database says, or the run's folder of a server."""
        if self._told is not None:
            return self._told.read()
        from trackio.sqlite_storage import SQLiteStorage

        rows = SQLiteStorage.get_logs(PROJECT, self._run.name, run_id=self._run.id)
        return {Key(name, int(row["step"])) for row in rows for name in row if "/" in name}

    def log(self, scalars: Sequence[Scalar]) -> None:
        """See `Tracker`."""
        rows: dict[int, dict[str, float]] = {}
        for scalar in scalars:
            rows.setdefault(scalar.step, {})[scalar.name] = scalar.value
        for step, values in rows.items():
            self._run.log(values, step=step)
        if self._told is not None:
            self._told.add(scalar.key for scalar in scalars)

    def close(self) -> None:
        """See `Tracker`."""
        self._run.finish()
