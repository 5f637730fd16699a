"""Memory that a process has freed, given back to the system."""

from __future__ import annotations

import ctypes

_trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # glibc has it


def give_back() -> None:
    """Give what is free back to the system, where the C library can.

    It keeps pages between what is still held, otherwise: a loop of days grows by them, though it
    holds no more. Takes some milliseconds.
    """
    if _trim is not None:
        _trim(0)
