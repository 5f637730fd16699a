"""The skill script: reach above the cube, go down, close, lift; from the start when it slips away.

It sees the tracker and the hand, as the demonstrator does, acts at once and does not tremble. Its
numbers are searched by the recipe `heuristic`; their plain values are what one writes down first.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

import numpy as np

from enpire.environment import ActionSpec, Demonstrator, Parameter, Readings
from enpire.types import Float32Array, FloatArray

from .geometry import cube_in_hand, quarter_turn

PARAMETERS = (
    Parameter("above", 0.030, 0.010, 0.060, "m"),  # height of the hand over the cube, to align
    Parameter("aligned", 0.008, 0.002, 0.012, "m"),  # off the cube, to go down
    Parameter("turned", 0.30, 0.05, 0.60, "rad"),  # out of the cube's faces, to go down
    Parameter("beside", 0.0, -0.004, 0.008, "m"),  # the cube's place off the grasp point, jaw open
    Parameter("low", 0.020, 0.0140, 0.024, "m"),  # height of the hand, to close
    Parameter("opened", 0.0, -0.80, 0.60, ""),  # gripper action of the open jaw
    Parameter("gain", 0.40, 0.10, 0.60, ""),  # share of a distance gone in a period
    Parameter("down", 1.0, 0.2, 1.0, ""),  # fastest way down, in full actions
    Parameter("closing", 5.0, 2.0, 16.0, "periods"),  # before it lifts
    Parameter("newest", 1.0, 0.1, 1.0, ""),  # weight of the newest reading in what is believed
)
HIGH = 0.100  # of the hand that has lifted [m]
SLIPPED = 0.025  # of the cube from the grasp point: it is not held [m]
MOVED = 0.010  # of the cube, seen at once: what was believed of it is out of date [m]
PATIENCE = 30  # control periods on the way down
BOTTOM = 0.004  # over `low`, where the way down ends [m]


class Skill(Enum):
    """What the script is doing."""

    REACH = "reach"
    DESCEND = "descend"
    CLOSE = "close"
    LIFT = "lift"


@dataclass(frozen=True, slots=True)
class Values:
    """A value for each of `PARAMETERS`."""

    above: float
    aligned: float
    turned: float
    beside: float
    low: float
    opened: float
    gain: float
    down: float
    closing: float
    newest: float


class PickUp(Demonstrator):
    """The script for one episode."""

    def __init__(self, actions: ActionSpec, values: Values) -> None:
        """Act in these units, with these numbers."""
        self._scale = actions.scale[0]
        self._v = values
        self._skill = Skill.REACH
        self._periods = 0  # since the skill began
        self._believed: FloatArray | None = None  # the cube's position [m]

    def act(self, readings: Readings) -> Float32Array:
        """One control period's action."""
        v = self._v
        offset, turn = self._see(readings)
        off = offset - v.beside * readings.hand_rotation[0, 0, :, 0]
        height = float(readings.hand_position[0, 0, 2])
        self._choose(off, turn, height, float(np.linalg.norm(offset)))
        move = np.array([off[0], off[1], v.low - height])
        match self._skill:
            case Skill.REACH:
                move[2] = off[2] + v.above
            case Skill.CLOSE:
                move[:2] = 0.0
            case Skill.LIFT:
                move = np.array([0.0, 0.0, HIGH - height])
            case _:
                pass
        action = np.zeros(7)
        action[:3] = np.clip(v.gain * move / self._scale[:3], -1, 1)
        if self._skill is not Skill.REACH:
            action[2] = max(action[2], -v.down)
        opened = self._skill in (Skill.REACH, Skill.DESCEND)
        if opened:
            action[5] = np.clip(v.gain * turn / self._scale[5], -1, 1)
        action[6] = v.opened if opened else -1.0
        return action.astype(np.float32)

    def _see(self, readings: Readings) -> tuple[FloatArray, float]:
        """From the grasp point to the cube (3,) [m]; how far it is turned out of the grip [rad]."""
        hand = readings.hand_position[0, 0]
        place = hand + cube_in_hand(readings)[0]
        if self._believed is None or np.linalg.norm(place - self._believed) > MOVED:
            self._believed = place
        self._believed = self._believed + self._v.newest * (place - self._believed)
        cos, sin = quarter_turn(readings)[0]
        return self._believed - hand, float(np.arctan2(sin, cos)) / 4

    def _choose(self, off: FloatArray, turn: float, height: float, away: float) -> None:
        """Go on to the next skill, or back to the first."""
        v = self._v
        self._periods += 1
        level = float(np.linalg.norm(off[:2]))
        match self._skill:
            case Skill.REACH if level < v.aligned and abs(turn) < v.turned:
                self._go(Skill.DESCEND)
            case Skill.DESCEND if height < v.low + BOTTOM:
                self._go(Skill.CLOSE)
            case Skill.DESCEND if level > v.aligned + 0.005 or self._periods > PATIENCE:
                self._go(Skill.REACH)
            case Skill.CLOSE if self._periods > v.closing:
                self._go(Skill.LIFT)
            case Skill.LIFT if away > SLIPPED:
                self._go(Skill.REACH)
            case _:
                pass

    def _go(self, skill: Skill) -> None:
        self._skill = skill
        self._periods = 0
