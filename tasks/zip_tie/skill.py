"""The skill script: the demonstrator's way to feed, by a machine that sees and acts as it is told.

No reaction time and no tremor: what is left are numbers, which the recipe `heuristic` searches;
their plain values are what one writes down first.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from enpire.environment import ActionSpec, Parameter

from .demonstrator import Manner, Teleoperator

PARAMETERS = (
    Parameter("pace", 0.0018, 0.0006, 0.0024, "m"),  # fastest that the tail goes in a period
    Parameter("care", 0.0010, 0.0004, 0.0030, "m"),  # off the slot's axis, to feed at all
    Parameter("funnel", 0.40, 0.0, 1.0, ""),  # more than that off, as a share of the way to it
    Parameter("gain", 0.15, 0.05, 0.50, ""),  # share of an error that is corrected in a period
    Parameter("inside", -0.003, -0.006, 0.006, "m"),  # along the slot, where it guides the tip
    Parameter("before", -0.013, -0.025, -0.008, "m"),  # along it, so far to back off
    Parameter("felt", 2.0, 0.5, 4.0, "N"),  # push at which the tail has caught
)


class Feeder(Teleoperator):
    """The script for one episode."""

    def __init__(self, actions: ActionSpec, values: Mapping[str, float]) -> None:
        """With a value for each of `PARAMETERS`."""
        super().__init__(np.random.default_rng(0), actions, Manner(**values), late=1, tremor=0.0)
