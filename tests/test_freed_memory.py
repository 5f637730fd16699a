"""What is freed goes back to the system."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from enpire import freed_memory

PIECES, SIZE = 40_000, 1024  # bytes objects, each from the C library's heap


def _resident() -> int:
    """Memory of this process [bytes]."""
    status = Path("/proc/self/statm").read_text(encoding="ascii").split()
    return int(status[1]) * 4096


@pytest.mark.skipif(
    not sys.platform.startswith("linux") or freed_memory._trim is None, reason="no glibc"
)
def test_what_is_free_between_what_is_held_goes_back() -> None:
    pieces = [bytes(SIZE) for _ in range(PIECES)]
    held = pieces[:: PIECES // 100]  # keeps the heap from shrinking by itself
    del pieces
    before = _resident()
    freed_memory.give_back()
    assert before - _resident() > PIECES * SIZE // 2
    assert len(held) == 100
