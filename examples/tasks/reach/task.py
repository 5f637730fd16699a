"""Reach: one SO-101 moves its hand to a goal that floats in front of it, and holds still there.

The smallest task that a loop can learn: what varies, what a policy sees, what success is, and
somebody who can do it. `tasks/pick_cube` adds objects, cameras, and a physical reset.
"""

from __future__ import annotations

import mujoco
import numpy as np
from numpy.typing import NDArray

from enpire.environment import (
    ActionSpec,
    ArmAction,
    CartesianControl,
    Demonstrator,
    Evidence,
    Readings,
    Task,
    time_left,
)
from enpire.twin import Twin
from enpire.types import Float32Array, FloatArray, Outcome, Predicate, Verdict

STEP = 0.008  # of a full action in a control period [m]
NEAR = 0.015  # of the goal is a success [m]
START = (0.0, -0.21, 0.28, np.pi / 2 - 0.07, np.pi / 2)  # joints at the start [rad]
CENTRE = (0.20, 0.0, 0.10)  # of where goals are [m]


class Reach(Task):
    """Move the hand to the goal."""

    robot = "so101"
    instruction = "Reach the goal."
    time_limit = 3.0
    tracked = ("task_goal",)
    actions = ActionSpec((ArmAction((STEP,) * 3, (0.0, 0.0, 0.0)),))
    observation_names = tuple(
        f"{what}_{axis}" for what in ("goal_from_hand", "hand") for axis in "xyz"
    )
    variation_names = ("goal_x", "goal_y", "goal_z")

    def build(self, spec: mujoco.MjSpec) -> None:
        """Add the goal: a small ball without weight that nothing touches."""
        goal = spec.worldbody.add_body(name="task_goal", pos=CENTRE, gravcomp=1)
        goal.add_freejoint(name="task_goal")
        goal.add_geom(size=(0.008, 0, 0), mass=0.01, contype=0, conaffinity=0, rgba=(0, 0.6, 0, 1))
        goal.add_site(name="task_goal")

    def sample(self, rng: np.random.Generator) -> FloatArray:
        """Draw where the goal is [m]."""
        return np.array(CENTRE) + rng.uniform(-0.04, 0.04, 3)

    def set_initial_state(
        self, twin: Twin, control: CartesianControl, row: int, variation: FloatArray
    ) -> None:
        """Put the goal there, and the arm at its start."""
        at = twin.model.joint("task_goal").qposadr[0]
        twin.qpos[row, at : at + 3] = variation
        twin.qpos[row, control.arms[0].qpos] = START
        control.set(row, np.array([START]), np.zeros(1))

    def observe(self, readings: Readings) -> Float32Array:
        """Where the goal is from the hand, and the hand, scaled to about one."""
        hand = readings.hand_position[:, 0]
        return np.concatenate([_gap(readings) / 0.05, (hand - CENTRE) / 0.05], 1).astype(np.float32)

    def looks_done(self, readings: Readings) -> NDArray[np.bool_]:
        """Whether it looks done: a little nearer than success asks for."""
        near: NDArray[np.bool_] = np.linalg.norm(_gap(readings), axis=1) < 0.7 * NEAR
        return near

    def verification_action(self, evidence: Evidence) -> Float32Array | None:
        """Hold still for half a second: a hand that only flies past the goal has not reached it."""
        return None if time_left(evidence.elapsed, 0.5) == 0.0 else np.zeros(7, np.float32)

    def verify(self, evidence: Evidence) -> Verdict:
        """Success: near the goal, in the mean of the last readings."""
        last = evidence.readings[-5:]
        gap = float(np.linalg.norm(np.mean([_gap(readings)[0] for readings in last], axis=0)))
        near = Predicate("near", gap, NEAR, "m", at_least=False)
        return Verdict(Outcome.SUCCESS if near.holds else Outcome.FAILURE, (near,))

    def demonstrator(self, rng: np.random.Generator) -> Demonstrator:
        """A person whose hand trembles."""
        return Person(rng)


class Person(Demonstrator):
    """Goes straight for the goal, at a pace of the day."""

    def __init__(self, rng: np.random.Generator) -> None:
        """Draw the pace."""
        self._rng, self._pace = rng, rng.uniform(0.1, 0.2)

    def act(self, readings: Readings) -> Float32Array:
        """Part of the way that is left, and some tremor."""
        action = np.zeros(7, np.float32)
        action[:3] = self._pace * _gap(readings)[0] / STEP + self._rng.normal(0, 0.1, 3)
        return action.clip(-1, 1)


def _gap(readings: Readings) -> FloatArray:
    """From the hand to the goal, as the tracker sees it, (m, 3) [m]."""
    gap: FloatArray = readings.position[:, 0] - readings.hand_position[:, 0]
    return gap
