"""The smallest task there is, for tests: one SO-101 moves its hand along x to a goal that floats.

An episode lasts half a second at most and touches nothing; whether it succeeds follows from how far
the goal is and how fast the policy moves.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import mujoco
import numpy as np
from numpy.typing import NDArray

from enpire.environment import (
    ActionSpec,
    ArmAction,
    CartesianControl,
    Controller,
    Demonstrator,
    Evidence,
    Readings,
    ResetMode,
    Restorer,
    SensorNoise,
    Stations,
    Task,
    time_left,
)
from enpire.environment.core.joint_task import with_joint_actions
from enpire.environment.resets.perturbation import Perturbation
from enpire.packs import find, load_robot, load_world
from enpire.packs.finder import AT_JOINTS
from enpire.twin import Twin
from enpire.twin.twin import Rows
from enpire.types import Float32Array, FloatArray, Outcome, Predicate, Verdict

STEP = 0.008  # of a full action [m]
NEAR = 0.008  # of the goal is a success [m]
START = (0.0, -0.21, 0.28, np.pi / 2 - 0.07, np.pi / 2)


class Reach(Task):
    """Move along x until the goal is near."""

    robot = "so101"
    instruction = "Reach the goal."
    time_limit = 0.52
    probe_limit = 0.2
    tracked = ("task_goal",)
    noise = SensorNoise(*(0.0,) * 6)
    actions = ActionSpec((ArmAction((STEP,) * 3, (0.0, 0.0, 0.0)),))
    observation_names = ("goal_x", "hand_x")
    variation_names = ("goal_x",)

    def __init__(self, folder: Path = Path("reach")) -> None:
        super().__init__(folder)

    def build(self, spec: mujoco.MjSpec) -> None:
        goal = spec.worldbody.add_body(name="task_goal", pos=(0.25, 0, 0.1), gravcomp=1)
        goal.add_freejoint(name="task_goal")
        goal.add_geom(name="task_goal", size=(0.005, 0, 0), mass=0.01, contype=0, conaffinity=0)
        goal.add_site(name="task_goal")

    def sample(self, rng: np.random.Generator) -> FloatArray:
        return rng.uniform(0.02, 0.06, 1)

    def set_initial_state(
        self, twin: Twin, control: CartesianControl, row: int, variation: FloatArray
    ) -> None:
        twin.qpos[row, control.arms[0].qpos] = START
        twin.forward(row)
        at = twin.model.joint("task_goal").qposadr[0]
        hand = twin.site_xpos[row, control.arms[0].grasp]
        twin.qpos[row, at : at + 3] = hand + np.array([variation[0], 0, 0])
        control.set(row, np.array([START]), np.zeros(1))

    def settle(self, twin: Twin, control: CartesianControl, row: int, elapsed: float) -> float:
        return time_left(elapsed, 0.08)

    def observe(self, readings: Readings) -> Float32Array:
        gap = _gap(readings) / 0.05
        return np.stack([gap, readings.hand_position[:, 0, 0]], axis=1).astype(np.float32)

    def looks_done(self, readings: Readings) -> NDArray[np.bool_]:
        return abs(_gap(readings)) < 0.5 * NEAR

    def verification_action(self, evidence: Evidence) -> Float32Array | None:
        return np.zeros(7, dtype=np.float32) if len(evidence.readings) < 3 else None

    def verify(self, evidence: Evidence) -> Verdict:
        gap = float(abs(_gap(evidence.readings[-1])[0]))
        near = Predicate("near", gap, NEAR, "m", at_least=False)
        return Verdict(Outcome.SUCCESS if near.holds else Outcome.FAILURE, (near,))

    def demonstrator(self, rng: np.random.Generator) -> Demonstrator:
        return Expert()


class Expert(Demonstrator):
    """Goes straight for the goal."""

    def act(self, readings: Readings) -> Float32Array:
        action = np.zeros(7, dtype=np.float32)
        action[0] = np.clip(_gap(readings)[0] / STEP, -1, 1)
        return action


class Speed(Controller):
    """Moves every hand along x by this share of a full action; keeps what it was asked."""

    def __init__(self, speed: float = 1.0) -> None:
        self.speed = speed
        self.asked: list[Rows] = []

    def begin(self, row: int, rng: np.random.Generator, exploration: float) -> None:
        pass

    def act(self, rows: Rows, observations: Float32Array, readings: Readings) -> Float32Array:
        self.asked.append(rows.copy())
        actions = np.zeros((len(rows), 7), dtype=np.float32)
        actions[:, 0] = self.speed
        return actions


class Restored(Reach):
    """Has a skill that puts the hand back, and a look that can be made to fail `failing` times.

    The goal floats where nature puts it.
    """

    variation_names = ("goal_x", "joint1")
    target_names = ("joint1",)
    restore_limit = 4.0

    def __init__(self, failing: int = 0) -> None:
        super().__init__()
        self.failing = failing
        self.targets: list[float] = []

    def after_compile(self, twin: Twin) -> None:
        twin.qpos[0, twin.scene.arms[0].qpos] = START
        twin.forward(0)
        self._hand = twin.site_xpos[0, twin.scene.arms[0].grasp].copy()
        twin.reset(0)

    def sample(self, rng: np.random.Generator) -> FloatArray:
        return rng.uniform((0.02, -0.1), (0.06, 0.1))

    def randomize_physics(self, twin: Twin, row: int, variation: FloatArray) -> None:
        at = twin.model.joint("task_goal").qposadr[0]
        twin.qpos[row, at : at + 3] = self._hand + np.array([variation[0], 0, 0])

    def set_initial_state(
        self, twin: Twin, control: CartesianControl, row: int, variation: FloatArray
    ) -> None:
        joints, jaw = posture(variation[1])
        twin.qpos[row, control.arms[0].qpos] = joints[0]
        control.set(row, joints, jaw)

    def restorer(self, rng: np.random.Generator, target: FloatArray) -> Restorer:
        self.targets.append(float(target[0]))
        return Returner(self, float(target[0]))


class Returner(Restorer):
    """Draws the hand back a little; the way to the posture does the rest."""

    def __init__(self, task: Restored, joint1: float) -> None:
        self.posture = posture(joint1)
        self._task = task
        self._periods = 0

    def clear(self, readings: Readings) -> Float32Array | None:
        return None

    def act(self, readings: Readings) -> Float32Array | None:
        self._periods += 1
        action = np.zeros(7, dtype=np.float32)
        action[0] = -0.5
        return action if self._periods <= 3 else None

    def in_place(self, readings: Sequence[Readings]) -> tuple[Predicate, ...]:
        failing = self._task.failing > 0
        self._task.failing -= failing
        return (Predicate("tidy", float(not failing), 0.5, ""),)


def reach_stations(
    stations: int = 1,
    threads: int = 1,
    task: Task | None = None,
    reset: ResetMode = ResetMode.FAST,
    perturbation: Perturbation | None = None,
) -> Stations:
    """Stations of this task, or of another on the same arm."""
    chosen = task or Reach()
    world, robot = find("sim", chosen.world), find("robots", chosen.robot)
    scene = load_world(world), load_robot(robot)
    return Stations(chosen, *scene, stations, threads, reset=reset, perturbation=perturbation)


def by_joints(task: type[Task] = Reach) -> Task:
    """This task, or another on the same arm, with joint actions."""
    made = with_joint_actions(task, load_robot(find("robots", task.robot)))(Path("reach"))
    made.name += AT_JOINTS
    return made


def posture(joint1: float) -> tuple[FloatArray, FloatArray]:
    """Joints (1, 5) and jaw (1,) of `START`, turned about the vertical."""
    return np.array([START]) + np.array([[joint1, 0, 0, 0, 0]]), np.zeros(1)


def _gap(readings: Readings) -> FloatArray:
    return readings.position[:, 0, 0] - readings.hand_position[:, 0, 0]
