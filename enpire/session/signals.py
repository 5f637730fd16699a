"""Signals that end a command: SIGTERM of who supervises it, SIGHUP of a terminal that is gone."""

from __future__ import annotations

import errno
import os
import signal
import termios
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

FATAL = (signal.SIGTERM, signal.SIGHUP)  # end a command as Ctrl-C does


@contextmanager
def signal_handler(numbers: tuple[int, ...], handler: Callable[[], None]) -> Iterator[None]:
    """Have signals call `handler` meanwhile; those that are ignored, as by nohup, stay ignored.

    In another thread than the main one nothing changes: Python has no handlers there.
    """

    def called(number: int, frame: FrameType | None) -> None:
        if number == signal.SIGHUP:
            mute_lost_terminal()
        handler()

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    heard = [n for n in numbers if signal.getsignal(n) is not signal.SIG_IGN]
    before = {number: signal.signal(number, called) for number in heard}
    try:
        yield
    finally:
        for number, old in before.items():
            signal.signal(number, old)


@contextmanager
def interrupt_on_signals() -> Iterator[None]:
    """SIGTERM and SIGHUP raise KeyboardInterrupt: they end all that was started, as Ctrl-C does."""

    def interrupt() -> None:
        raise KeyboardInterrupt

    with signal_handler(FATAL, interrupt):
        yield


def mute_lost_terminal() -> None:
    """Have what is printed go nowhere where the terminal is gone: to print there raises."""
    for number in (1, 2):
        try:
            termios.tcgetattr(number)
        except termios.error as error:
            if error.args[0] != errno.EIO:
                continue  # no terminal, but a file or a pipe
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, number)
            os.close(nowhere)
