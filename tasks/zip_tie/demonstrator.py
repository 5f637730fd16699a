"""The scripted demonstrator: a person at two leader arms, skills over inverse kinematics.

Bring the tail before the slot and feed it in, faster the better it is lined up; when it is felt to
catch on the head, back off and try again. At a wrist's stop an arm does not go where it is led, and
the hand sinks: near it a person goes slowly, and stands still once the hand has left its place.
Imperfect as teleoperation is: late (a reaction time), trembling, with a pace and a care of the day,
and never looking at more than the tracker gives.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from enum import Enum

import numpy as np

from enpire.environment import ActionSpec, Demonstrator, Readings
from enpire.types import Float32Array, FloatArray

from .frames import RIGHT, in_head
from .strap import GRASP

MOUTH = -0.007  # where the head begins, along the slot from its middle [m]
FASTEST = 0.0018  # of the hand in a control period [m]
WRIST, STOP = 3, 1.5708  # joint that tilts the hand, and where its range ends [rad]
SLOWS, SLOWEST = 0.05, 0.35  # so far before that a person slows down [rad]; pace that is left there
ASTRAY = 0.002  # of the tail's hand beyond its box, at which a person stops [m]
# A soft wrist that turns as eagerly as its hand moves swings, and the tail with it; so does a hand
# whose setpoint is led far ahead while friction holds it: such a lead is taken back.
TURNING, EASING = 0.5, 0.05  # of the gain; of a lead across the slot, in a control period
TREMOR = 0.26  # of the hands, in full actions (0.6 mm, 7 mrad)


@dataclass(frozen=True, slots=True)
class Manner:
    """How the tail is fed: the numbers of it that may differ."""

    pace: float  # of the tip in a control period, at most [m]
    care: float  # off the slot's axis at its mouth, to go on [m]
    funnel: float = 0.4  # more than that off, as a share of the way to the mouth
    gain: float = 0.12  # share of an error that is corrected in a control period
    inside: float = -0.003  # along the slot: from here on it guides the tip [m]
    before: float = -0.013  # so far back the tail is drawn when it has caught [m]
    felt: float = 2.0  # push against the head at which it is noticed that it has [N]


class Skill(Enum):
    """What the person is doing."""

    FEED = "feed"
    BACK = "back"
    STOP = "stop"


class Teleoperator(Demonstrator):
    """One episode's person."""

    def __init__(
        self,
        rng: np.random.Generator,
        actions: ActionSpec,
        manner: Manner | None = None,
        late: int | None = None,
        tremor: float = TREMOR,
    ) -> None:
        """Draw the person's pace, care and reaction time, unless they are given.

        late: readings, of which the first is acted on. tremor: in full actions.
        """
        self._rng = rng
        self._scale = actions.scale
        tail_hand = actions.arms[RIGHT]
        self._low, self._high = np.array(tail_hand.low) - ASTRAY, np.array(tail_hand.high) + ASTRAY
        self._skill = Skill.FEED
        if manner is None:
            manner = Manner(FASTEST * rng.uniform(0.6, 1.1), rng.uniform(0.0008, 0.0020))
        self._manner = manner
        self._late = int(rng.integers(1, 4)) if late is None else late
        self._seen: deque[tuple[FloatArray, FloatArray, FloatArray]] = deque(maxlen=self._late)
        self._trembles = tremor
        self._tremor = np.zeros(actions.size)

    def act(self, readings: Readings) -> Float32Array:
        """One control period's action."""
        if self._astray(readings):
            self._skill = Skill.STOP
        tip, direction, side = in_head(readings)
        self._seen.append((tip[0], direction[0], side[0]))
        tip_then, direction_then, side_then = self._seen[0]
        turn = np.zeros(3)
        if tip_then[0] < self._manner.inside:
            turn = (
                TURNING
                * self._manner.gain
                * np.array([-side_then[2], direction_then[2], -direction_then[1]])
            )
        push = float(readings.rotation[0, 0, :, 0] @ readings.wrist_force[0, RIGHT])
        lead = readings.rotation[0, 0].T @ readings.lead[0, RIGHT]
        move = self._move(tip_then, lead, push) - np.cross(
            turn, [GRASP, 0.0, 0.0]
        )  # turn about the tip
        rotation = readings.rotation[0, 0]
        action = np.zeros_like(self._tremor)
        action[7:13] = np.concatenate([rotation @ move, rotation @ turn]) / self._scale[1]
        action = self._by_hand(action, readings)
        if self._skill is Skill.STOP:
            action[:] = 0.0
        action[[6, 13]] = -1.0
        return action.astype(np.float32)

    def _astray(self, readings: Readings) -> bool:
        """Whether the tail's hand is not where it is led."""
        hand = readings.hand_position[0, RIGHT]
        return bool((hand < self._low).any() or (hand > self._high).any())

    def _by_hand(self, action: FloatArray, readings: Readings) -> FloatArray:
        """As a person's hands do it: trembling, and slowly near a wrist's stop."""
        before = self._tremor
        self._tremor = 0.7 * before + 0.7 * self._rng.normal(0, self._trembles, before.shape)
        action += self._tremor - before
        room = np.clip((STOP - readings.joints[0, :, WRIST]) / SLOWS, SLOWEST, 1.0)
        by_hand: FloatArray = np.repeat(room, len(action) // 2) * np.clip(action, -1, 1)
        return by_hand

    def _move(self, tip: FloatArray, lead: FloatArray, push: float) -> FloatArray:
        """The tip's translation over one period, head frame [m].

        lead: how far the hand's setpoint is ahead of the hand, (3,), head frame [m].
        """
        manner = self._manner
        if tip[0] >= manner.inside:
            return np.array([manner.pace, 0.0, 0.0])
        if self._skill is Skill.STOP:
            return np.zeros(3)
        if push > manner.felt:
            self._skill = Skill.BACK
        elif tip[0] < manner.before:
            self._skill = Skill.FEED
        if self._skill is Skill.BACK:
            return np.array([-manner.pace, 0.0, 0.0])
        error = float(np.linalg.norm(tip[1:]))
        funnel = manner.care + manner.funnel * max(0.0, MOUTH - tip[0])
        eagerness = np.clip(2.0 - error / funnel, -0.5, 1.0)
        steer = -manner.gain * np.clip(tip[1:], -0.008, 0.008) - EASING * lead[1:]
        return np.array([manner.pace * eagerness, *steer])
