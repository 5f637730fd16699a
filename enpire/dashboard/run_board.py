"""All runs that a dashboard shows: one, or those of a folder."""

from __future__ import annotations

import math
import threading
import time
from pathlib import Path

from enpire.dashboard.watched_run import WatchedRun
from enpire.errors import UsageError
from enpire.store import is_run

LOOK_S = 0.5  # least time between two looks at the same runs
SCAN_S = 2.0  # between looks for new runs in a folder
PATIENCE_S = 0.25  # for reading, before what is known is shown


class RunBoard:
    """Finds runs by the names of their folders, and looks at them when somebody asks.

    Attributes:
        single: the only run there is to see; None for a folder of runs.
    """

    def __init__(self, folder: Path) -> None:
        """folder: a run, or a folder that holds some.

        Raises:
            UsageError: there is no such folder.
        """
        if not folder.is_dir():
            raise UsageError(f"there is no folder {folder}: start a run, or name another")
        self.folder = folder
        self.single: WatchedRun | None = None
        self._runs: dict[str, WatchedRun] = {}
        self._lock = threading.Lock()
        self._due: list[WatchedRun] = []  # to be read, the next one last
        self._scanned = self._refreshed = -math.inf
        if is_run(folder):
            name = folder.resolve().name
            self.single = self._runs[name] = WatchedRun(name, folder)
        else:
            self._scan()  # names are there to be shown before anything is read

    def runs(self) -> list[WatchedRun]:
        """Return all runs, those under way first, then by name, latest first."""
        runs = sorted(self._runs.values(), key=lambda run: run.name, reverse=True)
        return sorted(runs, key=lambda run: not run.now.live)

    def find(self, name: str) -> WatchedRun | None:
        """Return the run of that name; names are looked up, and never joined to a path."""
        return self._runs.get(name)

    def refresh(self) -> bool:
        """Read what is new of every run, unless that was done a moment ago.

        Returns whether all were read: it takes `PATIENCE_S` and goes on when it is called again, so
        that large folders fill a page while they are read.
        """
        with self._lock:
            now = time.monotonic()
            if now - self._refreshed < LOOK_S:
                return True
            if self.single is None and now - self._scanned >= SCAN_S:
                self._scan()
                self._scanned = now
            self._due = self._due or self.runs()[::-1]
            while self._due:
                self._due.pop().refresh()
                if time.monotonic() - now > PATIENCE_S:
                    return not self._due
            self._refreshed = time.monotonic()
        return True

    def _scan(self) -> None:
        found = {path.name: path for path in self.folder.iterdir() if is_run(path)}
        kept = {name: run for name, run in self._runs.items() if name in found}
        new = {name: WatchedRun(name, found[name]) for name in found.keys() - kept.keys()}
        self._runs = kept | new
