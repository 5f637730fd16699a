"""Bytes that are nearly good: a few places of an example changed, by a seeded generator."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

Change = Callable[[bytearray, np.random.Generator, Sequence[bytes]], None]

EXTREMES = (b"\x00" * 8, b"\xff" * 8, b"\x7f" + b"\xff" * 7, b"\x80" + b"\x00" * 7)
WORDS = (
    *(b"NaN", b"-Infinity", b"1e999", b"null", b"true", b'""', b"[]", b"{}", b"-1", b"0"),
    *(b"9" * 400, b"../../x", b"http://x", b"\xff\xfe", "手".encode(), b"%00", b"\n", b"'; --"),
    *(b"[" * 3000, b'{"a":' * 3000, b"\x91" * 3000, b"\xdd\xff\xff\xff\xff", b"\xc7\x08\x05"),
)
"""What readers stumble over: numbers that are none, depth, lengths that lie, text in disguise."""


def changed(example: bytes, rng: np.random.Generator, others: Sequence[bytes]) -> bytes:
    """An example with one to four changes; others: to take parts of."""
    data = bytearray(example)
    for _ in range(int(rng.integers(1, 5))):
        CHANGES[int(rng.integers(len(CHANGES)))](data, rng, others)
    return bytes(data)


def _place(data: bytearray, rng: np.random.Generator) -> int:
    return int(rng.integers(len(data) + 1))


def _flip(data: bytearray, rng: np.random.Generator, _: Sequence[bytes]) -> None:
    if data:
        data[int(rng.integers(len(data)))] ^= 1 << int(rng.integers(8))


def _any_byte(data: bytearray, rng: np.random.Generator, _: Sequence[bytes]) -> None:
    if data:
        data[int(rng.integers(len(data)))] = int(rng.integers(256))


def _cut(data: bytearray, rng: np.random.Generator, _: Sequence[bytes]) -> None:
    at = _place(data, rng)
    del data[at : at + int(rng.integers(1, 16))]


def _end(data: bytearray, rng: np.random.Generator, _: Sequence[bytes]) -> None:
    del data[_place(data, rng) :]


def _twice(data: bytearray, rng: np.random.Generator, _: Sequence[bytes]) -> None:
    at = _place(data, rng)
    data[at:at] = data[at : at + int(rng.integers(1, 64))]


def _extreme(data: bytearray, rng: np.random.Generator, _: Sequence[bytes]) -> None:
    at, new = _place(data, rng), EXTREMES[int(rng.integers(len(EXTREMES)))]
    data[at : at + len(new)] = new


def _word(data: bytearray, rng: np.random.Generator, _: Sequence[bytes]) -> None:
    at, new = _place(data, rng), WORDS[int(rng.integers(len(WORDS)))]
    data[at : at + int(rng.integers(0, 8))] = new


def _part(data: bytearray, rng: np.random.Generator, others: Sequence[bytes]) -> None:
    other = others[int(rng.integers(len(others)))]
    start, at = int(rng.integers(len(other) + 1)), _place(data, rng)
    data[at:at] = other[start : start + int(rng.integers(1, 64))]


CHANGES: tuple[Change, ...] = (*(_flip, _any_byte, _cut, _end, _twice, _extreme, _word, _part),)
