"""What a task's own code does wrong: where, and that nobody waits for it for ever."""

from __future__ import annotations

import sys
import time
import traceback
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, InvalidStateError, wait
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Thread, get_ident
from traceback import FrameSummary
from typing import Any

from enpire.errors import PackError, error_text

RAISED = (Exception, SystemExit)  # by code of others, which may not end this process
LOOK_S = 0.05  # between looks at a call that is nearly out of time


@dataclass(frozen=True, slots=True)
class CallLimit:
    """How long a call may take [s]: of its thread's processor time, and on the clock.

    A machine that has other work takes longer on the clock and no more of the processor, so only
    the first says that a call computes too much. The second is for one that waits for ever.
    """

    busy_s: float
    clock_s: float


TOO_LONG = CallLimit(busy_s=5.0, clock_s=120.0)  # of a verdict


def where(error: BaseException, folder: Path, otherwise: str = "") -> str:
    """File and line in the pack at `folder` that raised; its `task.py` if none of its own did.

    otherwise: what is named then instead.
    """
    if isinstance(error, SyntaxError) and error.filename:
        return f"{error.filename}:{error.lineno}"
    return _inside(traceback.extract_tb(error.__traceback__), folder, otherwise)


def described(error: BaseException, folder: Path) -> str:
    """Describe an error in one line, for a person."""
    if isinstance(error, TookTooLong):
        return str(error)
    return f"{where(error, folder)}: {' '.join(error_text(error).split())}"


@contextmanager
def told_with_its_line(folder: Path) -> Iterator[None]:
    """Raise PackError, with file and line, for whatever the pack at `folder` raises within."""
    try:
        yield
    except (PackError, KeyboardInterrupt):
        raise
    except BaseException as error:
        raise PackError(described(error, folder)) from error


class TookTooLong(Exception):
    """A call has not come back; it is left to itself."""


class WatchedCall:
    """One call, on a thread of its own or on somebody else's, watched from outside."""

    def __init__(self) -> None:
        self._clock: int | None = None
        self._began = 0.0

    def begin(self) -> None:
        """It begins now, on this thread."""
        if hasattr(time, "pthread_getcpuclockid"):  # macOS has none: the clock alone counts there
            self._began = time.thread_time()
            self._clock = time.pthread_getcpuclockid(get_ident())

    @property
    def busy_s(self) -> float:
        """Processor time that its thread has taken since then; 0 before, and if it has ended."""
        if self._clock is None:
            return 0.0
        try:
            return time.clock_gettime(self._clock) - self._began
        except OSError:
            return 0.0

    def outlasts(self, limit: CallLimit, answer: Future[Any]) -> str:
        """Wait for its answer: why that is over without one, or nothing if it has come."""
        until = time.monotonic() + limit.clock_s
        while True:
            left = max(until - time.monotonic(), 0.0)
            wait([answer], min(max(limit.busy_s - self.busy_s, LOOK_S), left))
            if answer.done():
                return ""
            if self.busy_s >= limit.busy_s:
                return f"no verdict after {limit.busy_s:g} s of processor time"
            if time.monotonic() >= until:
                return f"no verdict after {limit.clock_s:g} s"


def call_within[T](limit: CallLimit, call: Callable[[], T], folder: Path) -> T:
    """What `call` returns or raises, on a thread of its own.

    Raises:
        TookTooLong: it has not come back within the limit; where in the pack at `folder` it is.
    """
    answer: Future[T] = Future()
    watched = WatchedCall()

    def run() -> None:
        watched.begin()
        try:
            answer.set_result(call())
        except RAISED as error:  # for who waits
            answer.set_exception(error)
        except BaseException as error:  # no Ctrl-C, which comes to the first thread alone
            answer.set_exception(
                RuntimeError(error_text(error)).with_traceback(error.__traceback__)
            )

    thread = Thread(target=run, name="judge", daemon=True)
    thread.start()
    if why := watched.outlasts(limit, answer):
        frame = sys._current_frames().get(thread.ident or 0)
        at = _inside(traceback.extract_stack(frame), folder)
        raise TookTooLong(f"{at}: {why}")
    return answer.result()


def expire[T](answer: Future[T], limit: CallLimit, call: WatchedCall, what: str) -> None:
    """Have `answer` raise TookTooLong unless it comes in time.

    call: makes the answer, and begins when its thread comes to it; on the clock, the time counts
    from now.
    """

    def give_up() -> None:
        if why := call.outlasts(limit, answer):
            with suppress(InvalidStateError):  # it has come this moment
                answer.set_exception(TookTooLong(f"{what}: {why}"))

    Thread(target=give_up, name="verdict", daemon=True).start()


def _inside(frames: Iterable[FrameSummary], folder: Path, otherwise: str = "") -> str:
    mine = [f for f in frames if Path(f.filename).is_relative_to(folder)]
    return (
        f"{mine[-1].filename}:{mine[-1].lineno}" if mine else (otherwise or str(folder / "task.py"))
    )
