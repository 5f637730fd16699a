"""Streams of episode seeds that never meet.

Each stream is named by what its episodes are for and by the round, so evaluation never sees an
initial condition that training saw. Sealed seeds come from entropy drawn after the policy was
frozen.
"""

from __future__ import annotations

import secrets
import zlib
from collections.abc import Iterator
from functools import lru_cache
from itertools import count

import numpy as np

ENTROPY_BITS = 52  # what a float in the ledger holds exactly


def stream(entropy: int, name: str, number: int = 0) -> Iterator[int]:
    """Endless 63-bit seeds of the stream `name`, `number`, under a run's seed."""
    named = zlib.crc32(name.encode())
    for index in count():
        yield _seed(entropy, (named, number, index))


@lru_cache(1 << 14)
def _seed(entropy: int, key: tuple[int, int, int]) -> int:
    """Return one seed of a stream; a loop asks for the same ones again and again."""
    state = np.random.SeedSequence(entropy, spawn_key=key).generate_state(1, np.uint64)
    return int(state[0] >> np.uint64(1))


def fresh_entropy() -> int:
    """Entropy that nothing in the run could know before now."""
    return secrets.randbits(ENTROPY_BITS)
