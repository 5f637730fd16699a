"""States that a task constructs to deceive its own verifier."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from enpire.environment.control.cartesian_control import CartesianControl
from enpire.environment.control.sensing import Readings
from enpire.twin import Twin
from enpire.types import Float32Array

Write = Callable[[Twin, CartesianControl, int, np.random.Generator], None]
"""Writes a state into one station, given by its row, whose scene a fast reset has just placed."""

Act = Callable[[Readings], Float32Array]
"""The action, shape (act,) in [-1, 1], that follows from one station's readings (m = 1)."""


@dataclass(frozen=True, slots=True)
class Fake:
    """A state that is not a success, although it may pass for one.

    Hands may still touch what they fake, or an object may be in a place that no predicate excludes.
    `enpire task check` constructs the state, lets physics and hands act, and then asks the verifier
    by sensors, the verifier by cameras, and the truth. None of them may call it a success.
    """

    name: str  # what is there instead of a success, in a few words
    why: str  # what makes it a failure
    # Writes the state: joints, setpoints (`CartesianControl.set`), objects, `eq_active`. Derived
    # arrays are computed afterwards.
    write: Write
    act: Act | None = None  # what the hands do afterwards. By default they hold their setpoints
    periods: int = 12  # control periods from the writing until the verifier begins
