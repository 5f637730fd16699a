"""The newest message between two processes, in shared memory: one writes, any number read.

A message is written into the older of two slots and counts once its checksum holds. So whoever
reads finds the newest whole one, whatever the writer does, dies or floods; it never waits. A torn
message is detected by its checksum, not by an order of stores that a language might not keep.
"""

from __future__ import annotations

import mmap
import os
import struct
import zlib
from pathlib import Path

import numpy as np

_HEAD = struct.Struct("<QII")  # number, length of the body, checksum of all three
_NUMBER = struct.Struct("<QI")
SLOT = 8192  # bytes, of which the header takes 16, unless a box is made for longer messages
BODY = SLOT - _HEAD.size


class Mailbox:
    """One end of a mailbox; `make` it before either end is opened."""

    def __init__(self, path: Path) -> None:
        """Open it for writing and reading."""
        self._memory = _mapped(path, 0)
        self._slot = len(self._memory) // 2  # bytes
        newest = self.newest()
        self._number = newest[0] if newest else 0

    @staticmethod
    def make(path: Path, body: int = BODY) -> None:
        """Make an empty one, that only this user may open; body: the longest message, bytes."""
        _make(path, 2 * (_HEAD.size + body))

    @property
    def body(self) -> int:
        """The longest message, bytes."""
        return self._slot - _HEAD.size

    def put(self, body: bytes) -> None:
        """Write a message of at most `body` bytes."""
        self._number += 1
        at = (self._number % 2) * self._slot
        check = zlib.crc32(body, zlib.crc32(_NUMBER.pack(self._number, len(body))))
        self._memory[at + _HEAD.size : at + _HEAD.size + len(body)] = body
        _HEAD.pack_into(self._memory, at, self._number, len(body), check)

    def newest(self) -> tuple[int, bytes] | None:
        """Number and body of the newest whole message; None if there is none."""
        newer, older = sorted((0, 1), key=lambda slot: self._head(slot)[0], reverse=True)
        return self._whole(newer) or self._whole(older)

    def number(self) -> int:
        """The number of the newest message, whole or not; 0 if there is none. It reads no body."""
        return max(self._head(0)[0], self._head(1)[0])

    def close(self) -> None:
        """Let go of the memory."""
        self._memory.close()

    def _head(self, slot: int) -> tuple[int, int, int]:
        number, length, check = _HEAD.unpack_from(self._memory, slot * self._slot)
        return number, length, check

    def _whole(self, slot: int) -> tuple[int, bytes] | None:
        number, length, check = self._head(slot)
        if not number or length > self.body:
            return None
        begin = slot * self._slot + _HEAD.size
        body = self._memory[begin : begin + length]
        whole = zlib.crc32(body, zlib.crc32(_NUMBER.pack(number, length))) == check
        return (number, body) if whole else None


class Beats:
    """A row of stamps, each written by who watches over something (a camera, the verifier)."""

    def __init__(self, path: Path, count: int) -> None:
        """Open it."""
        self._stamps = np.frombuffer(_mapped(path, 8 * max(count, 1)), np.int64)

    @staticmethod
    def make(path: Path, count: int) -> None:
        """Make one in which nothing has beaten yet."""
        _make(path, 8 * max(count, 1))

    def beat(self, index: int, stamp: int) -> None:
        """Say that it was alive at `stamp`, monotonic ns."""
        self._stamps[index] = stamp

    def stamp(self, index: int) -> int:
        """When it was alive last."""
        return int(self._stamps[index])


def _make(path: Path, size: int) -> None:
    path.unlink(missing_ok=True)
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        os.ftruncate(handle, size)
    finally:
        os.close(handle)


def _mapped(path: Path, size: int) -> mmap.mmap:
    handle = os.open(path, os.O_RDWR)
    try:
        return mmap.mmap(handle, size)
    finally:
        os.close(handle)
