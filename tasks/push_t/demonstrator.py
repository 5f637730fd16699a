"""The scripted demonstrator: a person at a leader arm who pushes a little and looks again.

Imperfect as teleoperation is: late (a reaction time), trembling, at a pace and with a care of the
day, with a guess of how the block slides, and never looking at more than the tracker gives.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from enum import Enum

import numpy as np

from enpire.environment import ActionSpec, Demonstrator, Readings
from enpire.types import Float32Array, FloatArray

from .geometry import GOAL, block_pose, displacement, mean_pose, overlap
from .pushing import STANDOFF, STEP, Finger, Push, choose

LOW, OVER = 0.020, 0.036  # heights of a hand that pushes, that may pass over the block [m]
HIGH, DONE = 0.044, 0.065  # that goes from face to face, that is done [m]
EYE = (0.001, 0.001, 0.01)  # error of the pose that a push is chosen by: no two are alike [m, rad]
PATIENCE = 25  # control periods over the time of a push
CARE = (0.93, 0.95)  # share of the goal that is covered when it is enough, least and most
TREMOR = 0.1  # of the hand, in full actions (1 mm)


class Skill(Enum):
    """What the person is doing."""

    LOOK = "look"
    RAISE = "raise"
    GO = "go"
    LOWER = "lower"
    PUSH = "push"
    BACK = "back"


@dataclass(frozen=True, slots=True)
class Manner:
    """How one pushes."""

    glance: int = 4  # readings of a block at rest that are seen as one
    gain: float = 0.4  # share of a distance that the hand goes in a control period
    fastest: float = 0.0045  # that it pushes in a control period [m]
    slowing: float = 0.25  # share of what remains that it pushes in a control period
    back: float = 0.004  # that it draws back in each of three control periods [m]
    near: float = 0.001  # what remains of a push that is done [m]
    astray: float = 0.008  # displacement from a push's path at which it is given up [m]
    touched: float = 0.003  # of the fingers from a face that they are taken to touch [m]
    felt: float = 2.0  # push on the block from above that is noticed [N]


class Teleoperator(Demonstrator):
    """One episode's person, who brings the block to a goal."""

    manner = Manner()
    eye = EYE

    def __init__(
        self,
        rng: np.random.Generator,
        actions: ActionSpec,
        goal: FloatArray = GOAL,
        care: tuple[float, float] = CARE,
        tremor: float = TREMOR,
    ) -> None:
        """Draw the person's pace, care, reaction time and tremor; `goal` is a pose, (3,)."""
        self._rng = rng
        self._trembles = tremor
        self._goal = goal
        self._scale = actions.scale[0, :3]
        self._pace = rng.uniform(0.7, 1.0)
        self._care = rng.uniform(*care)
        self._seen: deque[Readings] = deque(maxlen=int(rng.integers(1, 3)))
        self._poses: deque[FloatArray] = deque(maxlen=self.manner.glance)
        self._tremor: FloatArray = np.zeros(actions.size)
        self._skill = Skill.LOOK
        self._periods = 0  # since the skill began
        self._face = -1  # before which the fingers are, low
        self._push: Push | None = None  # None: nothing more to push

    def act(self, readings: Readings) -> Float32Array:
        """One control period's action."""
        self._seen.append(readings)
        seen = self._seen[0]
        pose, finger = block_pose(seen)[0], Finger.seen(seen)
        height = float(seen.hand_position[0, 0, 2])
        push = -float(seen.wrist_force[0, 0, 2])
        self._poses.append(pose)
        self._periods += 1
        self._choose(pose, finger, height, push)
        action = np.zeros_like(self._tremor)
        move = self._move(pose, finger, height) / self._scale
        action[:3] = np.clip(move, -self._pace, self._pace)
        before = self._tremor
        self._tremor = 0.7 * before + 0.7 * self._rng.normal(0, self._trembles, before.shape)
        action += self._tremor - before
        action[6] = -1.0
        return np.clip(action, -1, 1).astype(np.float32)

    def _choose(self, pose: FloatArray, finger: Finger, height: float, push: float) -> None:
        """Go on to the next skill."""
        match self._skill:
            case Skill.LOOK if self._periods >= self.manner.glance:
                self._look(finger)
            case Skill.RAISE if self._push is None and self._periods > 20:
                self._face = -1
                self._go(Skill.LOOK)  # not good enough after all
            case Skill.RAISE if self._push is not None and height > OVER:
                self._go(Skill.GO)
            case Skill.GO if np.linalg.norm(self._gap(pose, finger, STANDOFF)) < 0.003:
                self._go(Skill.PUSH if height < LOW + 0.004 else Skill.LOWER)
            case Skill.LOWER if push > self.manner.felt:
                self._go(Skill.RAISE)  # on the block
            case Skill.LOWER if height < LOW + 0.004:
                self._go(Skill.PUSH)
            case Skill.PUSH if self._pushed(pose, finger):
                self._go(Skill.BACK)
            case Skill.BACK if self._periods >= 3:
                self._go(Skill.LOOK)
            case _:
                pass

    def _look(self, finger: Finger) -> None:
        """See how the block lies; choose a push, or be done."""
        pose = mean_pose(np.array(self._poses))
        if overlap(pose, self._goal) > self._care:
            self._push = None
            self._go(Skill.RAISE)
            return
        by_eye = pose + self.eye * self._rng.standard_normal(3)
        self._push = choose(by_eye, self._goal, finger, self._face)
        self._go(Skill.GO if self._push.face == self._face else Skill.RAISE)
        self._face = self._push.face

    def _pushed(self, pose: FloatArray, finger: Finger) -> bool:
        """Whether the push is done, goes astray, or does not come to an end."""
        if self._push is None:
            return True
        normal = self._push.contact(pose)[1]
        manner = self.manner
        touched = self._gap(pose, finger, 0.0) @ normal < manner.touched
        away = displacement(pose, self._push.path).min()
        length = STEP * len(self._push.path)
        late = self._periods > PATIENCE + 2 * length / manner.fastest
        done = touched and self._push.remaining(pose) < manner.near
        return bool(done or away > manner.astray or late)

    def _gap(self, pose: FloatArray, finger: Finger, standoff: float) -> FloatArray:
        """From the fingers to where they are so far before the contact, (2,) [m]."""
        if self._push is None:
            return np.zeros(2)
        point, normal = self._push.contact(pose)
        return finger.touching(point, normal) - standoff * normal - finger.at

    def _move(self, pose: FloatArray, finger: Finger, height: float) -> FloatArray:
        """Where the hand goes in this period, along the world's axes, (3,) [m]."""
        manner = self.manner
        if self._push is None:
            return np.array([0.0, 0.0, manner.gain * (DONE - height)])
        match self._skill:
            case Skill.LOOK:
                return np.zeros(3)
            case Skill.RAISE:
                return np.array([0.0, 0.0, manner.gain * (HIGH - height)])
            case Skill.GO:
                level = HIGH if height > OVER - 0.006 else LOW
                across = manner.gain * self._gap(pose, finger, STANDOFF)
                return np.array([*across, manner.gain * (level - height)])
            case Skill.LOWER:
                across = manner.gain * self._gap(pose, finger, STANDOFF)
                return np.array([*across, manner.gain * (LOW - height) - 0.002])
            case Skill.PUSH:
                normal = self._push.contact(pose)[1]
                gap = self._gap(pose, finger, 0.0)
                ahead = float(gap @ normal)
                far = max(0.0, ahead - 0.004) + self._push.remaining(pose)
                along = min(manner.fastest, manner.slowing * far) * normal
                across = manner.gain * (gap - ahead * normal)
                return np.array([*(along + across), manner.gain * (LOW - height)])
            case Skill.BACK:
                return np.array([*(-manner.back * self._push.contact(pose)[1]), 0.0])

    def _go(self, skill: Skill) -> None:
        self._skill = skill
        self._periods = 0
