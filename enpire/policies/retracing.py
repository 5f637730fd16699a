"""Going back the way an episode came, which gets an arm out of where it is stuck.

Who pushes against a face goes on pushing: a compliant arm's setpoint runs ahead of its hand, and
friction holds the hand where it is. Drawn back until that lead is gone, it comes free, and the next
try is a new one. Demonstrations of people who hardly ever get stuck show no such thing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from enpire.types import Float32Array

PACE = 2.0  # times as fast as it came: the lead of the setpoint has to be taken back, too


@dataclass(slots=True)
class Path:
    """The way that an episode came.

    Attributes:
        chunks: those carried out that nothing has taken back, each (n, act), oldest first.
        asked: how many chunks were asked for so far.
        left: how many chunks it still goes back.
    """

    chunks: list[Float32Array] = field(default_factory=list)
    asked: int = 0
    left: int = 0

    def go(self, chunk: Float32Array) -> Float32Array:
        """Return `chunk`, which is carried out next."""
        self.chunks.append(chunk)
        return chunk

    def go_back(self, motions: Sequence[int]) -> Float32Array:
        """Return the chunk that takes back the newest one, which is then forgotten."""
        self.left = max(self.left - 1, 0)
        return undone(self.chunks.pop(), motions)


def undone(chunk: Float32Array, motions: Sequence[int]) -> Float32Array:
    """Return a chunk (n, act) that takes back what `chunk` did, newest action first.

    motions: entries of an action that move something, in [-1, 1]; they are reversed, and faster.
    The others, such as grippers, are what they were.
    """
    back = chunk[::-1].copy()
    entries = list(motions)
    back[:, entries] = np.clip(-PACE * back[:, entries], -1.0, 1.0)
    return back
