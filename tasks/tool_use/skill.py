"""The skill script: the demonstrator's way to cut, by a machine that does as it is told.

No reaction time, no tremor: what is left are numbers, which the recipe `heuristic` searches. Their
plain values are what one writes down first, from what they mean: blades 19 mm long, a pocket that
is 1.5 mm clear a side under a wider funnel.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from enpire.environment import ActionSpec, Parameter

from .demonstrator import Manner, Teleoperator

PARAMETERS = (
    Parameter("pace", 0.8, 0.4, 1.0, ""),  # fastest that the hand goes, in full actions
    Parameter("care", 0.0015, 0.0006, 0.0030, "m"),  # of the blades off the strap, to be lowered
    Parameter("steer", 0.25, 0.10, 0.50, ""),  # share of an error corrected in a period
    Parameter("over", 0.022, 0.012, 0.030, "m"),  # of the blades over the strap before that
    Parameter("bite", 0.0015, -0.0020, 0.0040, "m"),  # of them over it, at which they cut
    Parameter("squeeze", 12.0, 6.0, 25.0, "periods"),  # of a cut
    Parameter("clear", 0.030, 0.015, 0.045, "m"),  # of them over it, lifted, to carry the cutter
    Parameter("funnel", 0.050, 0.040, 0.065, "m"),  # of the pivot over its place in the stand
    Parameter("aligned", 0.003, 0.001, 0.006, "m"),  # of the cutter off its place, to be lowered
    Parameter("deep", 0.003, 0.001, 0.008, "m"),  # so far over its place it is let go
)


class Snipper(Teleoperator):
    """The script for one episode."""

    def __init__(self, actions: ActionSpec, values: Mapping[str, float]) -> None:
        """With a value for each of `PARAMETERS`."""
        super().__init__(np.random.default_rng(0), actions, Manner(**values), late=1, tremor=0.0)
