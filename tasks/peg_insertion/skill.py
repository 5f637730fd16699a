"""The skill script: the demonstrator's way to put the peg in, by a machine that does as it is told.

No reaction time, no tremor: what is left are numbers, which the recipe `heuristic` searches. Their
plain values are what one writes down first, from what they mean: a fit of 0.6 mm, a chamfer of 1 mm
and a force limit of 40 N.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from enpire.environment import ActionSpec, Parameter

from .demonstrator import Manner, Teleoperator

PARAMETERS = (
    Parameter("pace", 0.0010, 0.0004, 0.0010, "m"),  # fastest that the tip goes in a period
    Parameter("care", 0.0010, 0.0004, 0.0020, "m"),  # of the tip off the hole's axis, lined up
    Parameter("above", 0.002, 0.001, 0.006, "m"),  # of the tip over the mouth, lined up
    Parameter("upright", 0.02, 0.010, 0.060, "rad"),  # lean of a peg that is lined up, at most
    Parameter("steer", 0.30, 0.10, 0.50, ""),  # share of an error corrected in a period
    Parameter("softly", 0.00015, 0.00005, 0.0010, "m"),  # way down where it is about to touch
    Parameter("felt", 3.0, 1.5, 8.0, "N"),  # push at which the rim is felt
    Parameter("light", 5.0, 2.0, 12.0, "N"),  # the same while searching
    Parameter("spiral", 0.0015, 0.0005, 0.0030, "m"),  # radius of that in the end
    Parameter("entered", 0.003, 0.0015, 0.006, "m"),  # depth at which the hole guides the peg
    Parameter("hard", 10.0, 6.0, 16.0, "N"),  # push at which it pushes no harder
    Parameter("give", 4e-5, 0.0, 2e-4, "m/N"),  # aside, to what is felt
)


class Inserter(Teleoperator):
    """The script for one episode."""

    def __init__(self, actions: ActionSpec, values: Mapping[str, float]) -> None:
        """Take a value for each of `PARAMETERS`."""
        super().__init__(np.random.default_rng(0), actions, Manner(**values), late=1, tremor=0.0)
