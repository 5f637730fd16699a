"""A thread for what costs much, that a loop on the same machine does not feel."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, InvalidStateError, ThreadPoolExecutor
from contextlib import suppress
from typing import Any

from enpire.errors import EnpireError

SHARE = 0.05  # of the time that it may work
MOST_S = 0.25  # that one piece of work counts for: the first has libraries and a task loaded
LAZIEST = 19  # priority of a thread on Linux


class LazyThread:
    """Does one thing after another, at the lowest priority, and rests in between."""

    def __init__(self) -> None:
        """It begins with the first thing to do."""
        self._over = threading.Event()
        self._waited: set[Future[Any]] = set()  # that somebody waits for
        self._thread = ThreadPoolExecutor(1, "lazy", _be_lazy)

    def submit[T](self, do: Callable[[], T]) -> Future[T]:
        """Have something done when its turn comes.

        What it raises is raised by the future; an EnpireError if the thread ends before.
        """
        done: Future[T] = Future()
        self._waited.add(done)
        done.add_done_callback(self._waited.discard)
        self._thread.submit(self._work, done, do)
        return done

    def close(self, last: Callable[[], None] = lambda: None) -> None:
        """Do nothing more but `last`: it gives back what belongs to the thread."""
        self._over.set()
        for future in list(self._waited):  # who waits is not kept from leaving
            with suppress(InvalidStateError):  # it was done just now
                future.set_exception(EnpireError("the server ends"))
        self._thread.submit(last)
        self._thread.shutdown(wait=False)

    def _work[T](self, done: Future[T], do: Callable[[], T]) -> None:
        if self._over.is_set():
            return
        began = time.monotonic()
        with suppress(InvalidStateError):  # it was closed meanwhile
            try:
                done.set_result(do())
            except InvalidStateError:
                raise
            except Exception as error:
                done.set_exception(error)
        took = min(time.monotonic() - began, MOST_S)
        self._over.wait(took * (1.0 / SHARE - 1.0))


def _be_lazy() -> None:
    if hasattr(os, "setpriority"):
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), LAZIEST)
