"""The skill script: the demonstrator's way to push, by a machine that sees and acts as it is told.

No reaction time, no tremor, no error of the eye: what is left are numbers, which the recipe
`heuristic` searches; their plain values are what one writes down first.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping

import numpy as np

from enpire.environment import ActionSpec, Parameter

from .demonstrator import Manner, Teleoperator

PARAMETERS = (
    Parameter("glance", 2.0, 1.0, 8.0, "readings"),  # of a block at rest that are seen as one
    Parameter("gain", 0.40, 0.15, 0.70, ""),  # share of a distance gone in a period
    Parameter("fastest", 0.006, 0.002, 0.010, "m"),  # that it pushes in a period
    Parameter("slowing", 0.40, 0.10, 0.60, ""),  # share of what remains pushed in a period
    Parameter("back", 0.004, 0.002, 0.008, "m"),  # drawn back in each of three periods
    Parameter("near", 0.001, 0.0, 0.003, "m"),  # what remains of a push that is done
    Parameter("astray", 0.012, 0.003, 0.020, "m"),  # off a push's path, to give it up
    Parameter("touched", 0.003, 0.001, 0.006, "m"),  # of the fingers from a face that they touch
    Parameter("felt", 2.0, 0.5, 5.0, "N"),  # push from above that is noticed
    Parameter("pace", 0.9, 0.5, 1.0, ""),  # fastest that the hand goes, in full actions
    Parameter("covered", 0.925, 0.905, 0.970, ""),  # share of the goal that is enough
)


class Pusher(Teleoperator):
    """The script for one episode."""

    eye = (0.0, 0.0, 0.0)

    def __init__(self, actions: ActionSpec, values: Mapping[str, float]) -> None:
        """With a value for each of `PARAMETERS`."""
        manner = dict(values)
        pace, covered = manner.pop("pace"), manner.pop("covered")
        glance = max(round(manner.pop("glance")), 1)
        self.manner = Manner(glance, **manner)
        super().__init__(np.random.default_rng(0), actions, care=(covered, covered), tremor=0.0)
        self._pace = pace
        self._seen = deque(maxlen=1)
