"""The lines from which the tie hangs where an episode begins with it before the bundle.

They are those that present the tie for a reset, with their winches standing still; and each ends at
the tie in a magnet, which comes off under `GIVE` and stays off until the next reset.
"""

from __future__ import annotations

import numpy as np

from enpire.twin import Twin
from enpire.types import FloatArray

from .fixture import DAMPING, REST, SLACK, STIFFNESS, TIED, Fixture, eyelet_of

GIVE = 1.0  # pull under which a magnet comes off [N]


class Hanging(Fixture):
    """The lines of every station of a twin."""

    def __init__(self, twin: Twin) -> None:
        """Their eyelets may stand anywhere."""
        super().__init__(twin)
        self._places = twin.expand("site_pos")

    def present_at(self, row: int, ends: FloatArray, frame: FloatArray) -> None:
        """Where it is to hang: head and held place of the tail, (2, 3) [m]; both turned so."""
        for site, name in zip(self._eyelets, TIED, strict=True):
            self._places[row, site] = eyelet_of(name, ends, frame)

    def hang(self, row: int) -> None:
        """Have all lines hold it, wound in."""
        self._stiffness[row, self._lines] = STIFFNESS
        self._damping[row, self._lines] = DAMPING
        self._length[row, self._lines, 1] = REST

    def give(self, row: int) -> None:
        """Those that are pulled too hard come off."""
        lines = self._site[row, self._tied] - self._site[row, self._eyelets]
        stretch = np.linalg.norm(lines, axis=1) - self._length[row, self._lines, 1]
        off = np.array(self._lines)[self._stiffness[row, self._lines] * stretch > GIVE]
        self._stiffness[row, off] = self._damping[row, off] = 0.0
        self._length[row, off, 1] = SLACK
