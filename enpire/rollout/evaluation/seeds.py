"""Streams of episode seeds that never meet.

Each stream is named by what its episodes are for and by the round, so evaluation never sees an
initial condition that training saw. Sealed seeds come from entropy drawn after the policy was
frozen.
"""

from __future__ import annotations

import secrets
import zlib
from collections.abc import Iterator

import numpy as np

ENTROPY_BITS = 52  # what a float in the ledger holds exactly


def stream(entropy: int, name: str, number: int = 0) -> Iterator[int]:
    """Endless 63-bit seeds of the stream `name`, `number`, under a run's seed."""
    index = 0
    while True:
        key = (zlib.crc32(name.encode()), number, index)
        state = np.random.SeedSequence(entropy, spawn_key=key).generate_state(1, np.uint64)
        yield int(state[0] >> np.uint64(1))
        index += 1


def fresh_entropy() -> int:
    """Entropy that nothing in the run could know before now."""
    return secrets.randbits(ENTROPY_BITS)
