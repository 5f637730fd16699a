"""The skill script: the demonstrator's way to seat a pin, by a machine that does as it is told.

No reaction time, no tremor: what is left are numbers, which the recipe `heuristic` searches. Their
plain values are what one writes down first, from what they mean: the tracker is off by 0.5 mm from
pin to hole, a hole leaves a pin 0.02 rad, what is noticed is well above the force sensor's noise.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping

import numpy as np

from enpire.environment import ActionSpec, Parameter

from .demonstrator import Manner, Teleoperator

PARAMETERS = (
    Parameter("pace", 0.8, 0.3, 1.0, ""),  # fastest that the hand goes, in full actions
    Parameter("hover", 0.002, 0.001, 0.005, "m"),  # of the pin over the face, lined up
    Parameter("care", 0.0005, 0.0003, 0.0015, "m"),  # off the hole, lined up
    Parameter("upright", 0.02, 0.01, 0.06, "rad"),  # lean of a pin that is lined up
    Parameter("steer", 0.3, 0.1, 0.6, ""),  # share of an error corrected in a period
    Parameter("fastest", 0.001, 0.0004, 0.0020, "m"),  # of the pin, down, in a period
    Parameter("felt", 1.0, 0.5, 4.0, "N"),  # push at which it has landed
    Parameter("press", 2.0, 0.5, 5.0, "N"),  # push while searching
    Parameter("step", 0.0003, 0.0001, 0.0008, "m"),  # of the search, in a period
    Parameter("apart", 0.0004, 0.0002, 0.0010, "m"),  # of the turns of its spiral
    Parameter("widest", 0.0010, 0.0004, 0.0024, "m"),  # radius of the search: two errors
    Parameter("give", 0.0001, 0.0, 0.0004, "m/N"),  # sideways, in the hole, in a period
    Parameter("bottom", 4.0, 2.0, 5.5, "N"),  # push at which the bottom is felt
)


class Inserter(Teleoperator):
    """The script for one episode."""

    def __init__(self, actions: ActionSpec, values: Mapping[str, float]) -> None:
        """With a value for each of `PARAMETERS`."""
        manner = dict(values)
        pace, care = manner.pop("pace"), manner.pop("care")
        self.manner = Manner(**manner)
        super().__init__(np.random.default_rng(0), actions, tremor=0.0)
        self._pace, self._care = pace, care
        self._seen = deque(maxlen=1)
