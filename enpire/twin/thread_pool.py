"""A few threads that carry out calls, in the order in which these were handed over."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable
from queue import Empty, SimpleQueue

Call = Callable[[], None]


class ThreadPool:
    """`threads - 1` threads, and whoever helps. A call must not raise."""

    def __init__(self, threads: int) -> None:
        self.threads = threads
        self._calls: SimpleQueue[Call | None] = SimpleQueue()
        for _ in range(threads - 1):
            threading.Thread(target=_work, args=(self._calls,), name="twin", daemon=True).start()
        weakref.finalize(self, _dismiss, self._calls, threads - 1)

    def put(self, call: Call) -> None:
        """Have it carried out by the first thread that is free."""
        self._calls.put(call)

    @property
    def wanted(self) -> bool:
        """Whether there is a call that no thread has begun."""
        return not self._calls.empty()

    def help(self) -> bool:
        """Carry out a call that no thread has begun; False if there is none."""
        try:
            call = self._calls.get_nowait()
        except Empty:
            return False
        if call is not None:
            call()
        return True


def _work(calls: SimpleQueue[Call | None]) -> None:
    while True:
        call = calls.get()
        if call is None:
            return
        call()
        del call  # it may be all that keeps a twin alive


def _dismiss(calls: SimpleQueue[Call | None], threads: int) -> None:
    for _ in range(threads):
        calls.put(None)
