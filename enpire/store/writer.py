"""Recording episodes beside the physics, so that no fsync stalls a station."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass

from enpire.closing import Closing
from enpire.errors import StoreError
from enpire.store.episodes import frozen
from enpire.store.rows import Interval
from enpire.store.run import Run
from enpire.types import Episode


@dataclass(frozen=True, slots=True)
class _Work:
    episodes: tuple[Episode, ...]
    intervals: tuple[Interval, ...]


@dataclass(frozen=True, slots=True)
class _Barrier:
    reached: threading.Event
    last: bool = False


class EpisodeWriter(Closing):
    """One thread that gathers episodes into batches and records each in `run`.

    An episode is recorded once a batch is full, `linger_s` after its batch was begun, at `flush`
    and at `close`; until then a crash loses it. A failure is raised by every later call; what came
    after it is not recorded.

    capacity: calls of `put` that may wait; a further one blocks until the disk catches up.
    """

    def __init__(
        self, run: Run, *, batch: int = 8, linger_s: float = 1.0, capacity: int = 64
    ) -> None:
        self._run = run
        self._batch = batch
        self._linger_s = linger_s
        self._queue: queue.Queue[_Work | _Barrier] = queue.Queue(capacity)
        self._error: Exception | None = None
        self._lost = 0
        self._closed = False
        self._thread = threading.Thread(target=self._work, name="episode-writer", daemon=True)
        self._thread.start()

    def put(self, episodes: Sequence[Episode], intervals: Sequence[Interval] = ()) -> None:
        """Hand over episodes and intervals; their arrays are copied and may be reused at once."""
        if self._closed:
            raise StoreError(f"the writer of {self._run.folder} is closed: open the run again")
        self._raise()
        self._queue.put(_Work(tuple(frozen(e) for e in episodes), tuple(intervals)))

    def flush(self) -> None:
        """Wait until everything handed over is on the disk."""
        if not self._closed:
            self._wait(_Barrier(threading.Event()))
        self._raise()

    def close(self) -> None:
        """Flush and end the thread; the run stays open. Safe to call twice."""
        if not self._closed:
            self._closed = True
            self._wait(_Barrier(threading.Event(), last=True))
            self._thread.join()
        self._raise()

    def _wait(self, barrier: _Barrier) -> None:
        self._queue.put(barrier)
        barrier.reached.wait()

    def _raise(self) -> None:
        if self._error is not None:
            raise StoreError(f"{self._error} ({self._lost} episodes not recorded)") from self._error

    def _work(self) -> None:
        episodes: list[Episode] = []
        intervals: list[Interval] = []
        due: float | None = None
        while True:
            try:
                wait = None if due is None else max(0.0, due - time.monotonic())
                item = self._queue.get(timeout=wait)
            except queue.Empty:
                item = None
            if isinstance(item, _Work):
                episodes.extend(item.episodes)
                intervals.extend(item.intervals)
                due = time.monotonic() + self._linger_s if due is None else due
                if len(episodes) < self._batch:
                    continue
            self._record(episodes, intervals)
            episodes, intervals, due = [], [], None
            if isinstance(item, _Barrier):
                item.reached.set()
                if item.last:
                    return

    def _record(self, episodes: list[Episode], intervals: list[Interval]) -> None:
        if self._error is None and (episodes or intervals):
            try:
                self._run.add_episodes(episodes, intervals)
                return
            except Exception as error:  # whatever it is, the caller must hear of it
                self._error = error
        self._lost += len(episodes)
