"""The skill script: the demonstrator's way to seat the card, by a machine that does as it is told.

No reaction time, no tremor: what is left are numbers, which the recipe `heuristic` searches. Their
plain values are what one writes down first, from what they mean: lead-ins of 1.5 mm, a force limit
of 30 N a wrist and springs of some 9 N a hand.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from enpire.environment import ActionSpec, Parameter

from .demonstrator import Manner, Teleoperator
from .fetching import Fetcher

PARAMETERS = (
    Parameter("pace", 0.0013, 0.0005, 0.0016, "m"),  # fastest that the card goes in a period
    Parameter("care", 0.0010, 0.0005, 0.0020, "m"),  # of either end off its place, lined up
    Parameter("above", 0.003, 0.001, 0.006, "m"),  # of the edge over the mouth, lined up
    Parameter("steer", 0.30, 0.10, 0.50, ""),  # share of an error corrected in a period
    Parameter("felt", 3.0, 1.5, 8.0, "N"),  # push of both hands at which the rim is felt
    Parameter("light", 6.0, 2.0, 12.0, "N"),  # the same while searching
    Parameter("spiral", 0.0015, 0.0005, 0.0030, "m"),  # radius of that in the end
    Parameter("entered", 0.0025, 0.0015, 0.0040, "m"),  # depth at which the slot guides the edge
    Parameter("down", 0.7, 0.3, 1.0, ""),  # way down in the slot, as a share of the pace
    Parameter("hard", 13.0, 10.0, 20.0, "N"),  # of one hand, at which it pushes no harder
    Parameter("even", 5e-5, 0.0, 2e-4, "rad/N"),  # tip towards the hand that feels less
    Parameter("give", 4e-5, 0.0, 2e-4, "m/N"),  # aside, to what is felt
    Parameter("yaw_give", 4e-3, 0.0, 1.2e-2, "rad/(N m)"),  # about the vertical, to what is felt
)


class Seater(Teleoperator):
    """The script for one episode."""

    def __init__(self, actions: ActionSpec, values: Mapping[str, float]) -> None:
        """With a value for each of `PARAMETERS`."""
        super().__init__(np.random.default_rng(0), actions, Manner(**values), late=1, tremor=0.0)


class FetchingSeater(Fetcher):
    """The same from the cradle on."""

    def __init__(self, actions: ActionSpec, values: Mapping[str, float]) -> None:
        """With a value for each of `PARAMETERS`; the way to the slot has none."""
        super().__init__(np.random.default_rng(0), actions, Manner(**values), late=1, tremor=0.0)
