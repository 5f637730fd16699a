"""The smallest task with a skill script: `Reach`, by a hand that goes at one speed and stops."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from enpire.environment import Demonstrator, Parameter, Readings
from enpire.types import Float32Array

from .reach import STEP, Reach


class Tuned(Reach):
    """Half of the goals are reached in time at the plain speed, all of them at the best."""

    parameters = (
        Parameter("speed", 0.3, 0.0, 1.0, ""),
        Parameter("stop", 0.5, 0.0, 1.0, ""),
    )

    def skill(self, values: Mapping[str, float]) -> Demonstrator:
        return Goes(values["speed"], values["stop"])


class Goes(Demonstrator):
    """At a speed, until so many full actions before the goal."""

    def __init__(self, speed: float, stop: float) -> None:
        self._speed, self._stop = speed, stop

    def act(self, readings: Readings) -> Float32Array:
        gap = readings.position[0, 0, 0] - readings.hand_position[0, 0, 0]
        action = np.zeros(7, np.float32)
        action[0] = self._speed if gap > self._stop * STEP else 0.0
        return action
