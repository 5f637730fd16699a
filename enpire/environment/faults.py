"""What a task's own code does wrong: where, and that nobody waits for it for ever."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from pathlib import Path
from threading import Thread, Timer
from traceback import FrameSummary

TOO_LONG = 5.0  # of a verdict [s]


def where(error: BaseException, folder: Path) -> str:
    """File and line in the pack at `folder` that raised; its `task.py` if none of its own did."""
    if isinstance(error, SyntaxError):
        return f"{error.filename}:{error.lineno}"
    return _inside(traceback.extract_tb(error.__traceback__), folder)


def described(error: BaseException, folder: Path) -> str:
    """In one line, for a person."""
    if isinstance(error, TookTooLong):
        return str(error)
    return f"{where(error, folder)}: {type(error).__name__}: {error}"


class TookTooLong(Exception):
    """A call has not come back; it is left to itself."""


def within[T](limit_s: float, call: Callable[[], T], folder: Path) -> T:
    """What `call` returns or raises, on a thread of its own.

    Raises:
        TookTooLong: it has not come back after so long; where in the pack at `folder` it is.
    """
    answer: Future[T] = Future()

    def run() -> None:
        try:
            answer.set_result(call())
        except BaseException as error:  # for who waits
            answer.set_exception(error)

    thread = Thread(target=run, name="judge", daemon=True)
    thread.start()
    thread.join(limit_s)
    if not answer.done():
        frame = sys._current_frames().get(thread.ident or 0)
        at = _inside(traceback.extract_stack(frame), folder)
        raise TookTooLong(f"{at}: no verdict after {limit_s:g} s")
    return answer.result()


def expire[T](answer: Future[T], limit_s: float, what: str) -> None:
    """Have `answer` raise TookTooLong unless it comes in time."""

    def give_up() -> None:
        if not answer.done():
            answer.set_exception(TookTooLong(f"{what}: no verdict after {limit_s:g} s"))

    timer = Timer(limit_s, give_up)
    timer.daemon = True
    timer.start()
    answer.add_done_callback(lambda _: timer.cancel())


def _inside(frames: Iterable[FrameSummary], folder: Path) -> str:
    mine = [f for f in frames if Path(f.filename).is_relative_to(folder)]
    return f"{mine[-1].filename}:{mine[-1].lineno}" if mine else str(folder / "task.py")
