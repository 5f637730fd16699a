"""Named points at which a process can be made to die or fail, to show that nothing is lost by it.

`ENPIRE_FAULT=NAME:N:WHAT` has the N-th pass of the point NAME (`*`: of any) do WHAT: `kill` is
SIGKILL, `MemoryError` that, anything else an error of the operating system (`ENOSPC`). `N+` has all
passes from the N-th on do it. Without the variable a point does nothing.

write, written, renamed    a file: before it, when it lies under its temporary name, under its own
folder, folder_renamed     a folder that is whole, and under its own name
commit, committed          a transaction of the ledger
promote, promoted          a policy that becomes the incumbent
version, version_there     a version of a policy that learns while episodes run
"""

from __future__ import annotations

import errno
import os
import re
import signal
import threading

from enpire.errors import UsageError

VARIABLE = "ENPIRE_FAULT"

ASKED = re.compile(rf"([a-z_*]+):(\d+\+?):(kill|MemoryError|{'|'.join(errno.errorcode.values())})")

_turn = threading.Lock()
_passed = 0


def fault_point(name: str) -> None:
    """Pass a point; it may be the last that this process does."""
    asked = os.environ.get(VARIABLE)
    if asked is None:
        return
    found = ASKED.fullmatch(asked)
    if found is None:
        raise UsageError(f"{VARIABLE}={asked!s:.80} is no NAME:N:WHAT, as write:3:kill: unset it")
    at, number, what = found.groups()
    if at not in (name, "*"):
        return
    global _passed
    with _turn:
        _passed += 1
        passed = _passed
    first = int(number.removesuffix("+"))
    if passed == first or (passed > first and number.endswith("+")):
        _fail(what)


def passed(reset: bool = False) -> int:
    """How many passes were counted; with `reset` they are counted anew from now on."""
    global _passed
    with _turn:
        count = _passed
        if reset:
            _passed = 0
    return count


def _fail(what: str) -> None:
    if what == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    if what == "MemoryError":
        raise MemoryError
    number = int(getattr(errno, what))
    raise OSError(number, os.strerror(number))
