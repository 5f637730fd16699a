"""What may be sent, given what is wanted: one pure function, safe by construction.

Invariant: from every setpoint that was sent, at the speed it was sent with, the way straight ahead
to standstill lies within the joints' ranges and in free space. Braking goes that way: all axes slow
down at the same rate, so their path is a straight line in joint space whatever their speeds. A new
setpoint is sent only if the invariant holds after it; braking is always left, as its remaining way
is a part of the one checked before. (Recursive feasibility by a backup manoeuvre: Fraichard and
Asama 2004, inevitable collision states.)

Units of axes as in `enpire.drivers.driver`; arrays (axes,) unless said.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from enpire.safety.limits import SafetyLimits
from enpire.safety.rules import GateRule
from enpire.types import FloatArray

SHARES = (1.0, 0.75, 0.5, 0.25)  # of the way from braking to what is wanted, tried in turn
CALM_HANDS = 0.99  # of their speed limit: bent ways are longer than straight ones
ROUNDING = 1e-9  # relative; far below what any encoder resolves


class Space(Protocol):
    """The space where the arms may be."""

    def forbidden(self, posture: FloatArray) -> GateRule:
        """The rule that a posture breaks, or NONE."""

    def blocked(self, start: FloatArray, end: FloatArray) -> GateRule:
        """The rule broken on the straight way between two postures, both included, or NONE."""

    def hands(self, posture: FloatArray) -> FloatArray:
        """Grasp points, (arms, 3), world frame [m]."""


@dataclass(frozen=True, slots=True, eq=False)
class SentSetpoint:
    """A setpoint that was sent, the speed it was reached with, per second, and what it was for."""

    position: FloatArray
    velocity: FloatArray
    target: FloatArray

    @classmethod
    def at_rest(cls, position: FloatArray) -> SentSetpoint:
        """Standing still."""
        return cls(position, np.zeros_like(position), position)

    @property
    def still(self) -> bool:
        """Whether nothing moves."""
        return not self.velocity.any()


@dataclass(frozen=True, slots=True, eq=False)
class GateStep:
    """What is to be sent next, None if nothing lawful is left; and the rules that acted."""

    motion: SentSetpoint | None
    rules: GateRule


def advance(
    motion: SentSetpoint,
    measured: FloatArray,
    wanted: FloatArray,
    limits: SafetyLimits,
    space: Space,
    dt: float,
) -> GateStep:
    """The setpoint to send, as near to `wanted` as the limits allow.

    Args:
        motion: what was sent `dt` seconds ago; the invariant holds for it.
        measured: where the arms are.
        wanted: of any shape and with any values.

    Returns:
        Step, with a rule of BRAKES or HOLDS if the station has to stop.
    """
    q, v = motion.position, motion.velocity
    fault = _fault(wanted, q, measured, limits)
    if fault:
        return brake(motion, measured, limits, space, dt, fault)
    target = np.clip(wanted, limits.low, limits.high)
    rules = GateRule.NONE if (target == wanted).all() else GateRule.RANGE
    forbidden = space.forbidden(target)
    if forbidden:
        return brake(motion, measured, limits, space, dt, rules | forbidden)
    wish, clamped = towards(motion, target, limits, dt)
    calm = _with_calm_hands(q, v, wish, limits, space, dt)
    rules |= clamped if calm is wish else clamped | GateRule.CARTESIAN_SPEED
    wish = calm
    slow = _slowed(v, limits, dt)
    for share in SHARES:
        velocity = slow + share * (wish - slow)
        step = q + velocity * dt
        refused = _refused(q, step, velocity, measured, limits, space, dt)
        if not refused:
            return GateStep(SentSetpoint(step, velocity, target), rules)
        rules |= refused
    return brake(motion, measured, limits, space, dt, rules)


def brake(
    motion: SentSetpoint,
    measured: FloatArray,
    limits: SafetyLimits,
    space: Space,
    dt: float,
    rules: GateRule = GateRule.NONE,
) -> GateStep:
    """The next setpoint on the way to standstill; `rules` is what it is for."""
    velocity = _slowed(motion.velocity, limits, dt)
    step = motion.position + velocity * dt
    if (abs(step - measured) > limits.jump).any():
        return GateStep(None, rules | GateRule.LAG)
    # Slower joints may still, in a strongly bent part of the way, make a faster hand.
    if velocity.any() and _too_fast(motion.position, step, limits, space, dt):
        return GateStep(None, rules | GateRule.CARTESIAN_SPEED | GateRule.LAG)
    return GateStep(SentSetpoint(step, velocity, step), rules)


def standstill(
    position: FloatArray, velocity: FloatArray, limits: SafetyLimits, dt: float
) -> FloatArray:
    """The place where braking from a motion ends."""
    return position + velocity * (dt * (_periods(velocity, limits, dt) - 1) / 2)


def _fault(
    wanted: FloatArray, q: FloatArray, measured: FloatArray, limits: SafetyLimits
) -> GateRule:
    if wanted.shape != q.shape:
        return GateRule.SIZE
    if not np.isfinite(wanted).all():
        return GateRule.FINITE
    if (abs(wanted - measured) > limits.jump).any():
        return GateRule.JUMP
    return GateRule.NONE


def towards(
    motion: SentSetpoint, target: FloatArray, limits: SafetyLimits, dt: float
) -> tuple[FloatArray, GateRule]:
    """Velocity of the next step, (axes,): to the target at once, or so that every axis can meet it.

    To meet it is to be there at its own speed, which is how far it has moved since the last period.
    """
    acceleration, gain = limits.acceleration, limits.acceleration * dt
    v, way = motion.velocity, target - motion.position
    velocity = way / dt
    moving = np.clip((target - motion.target) / dt, -limits.speed, limits.speed)
    fast = bool((abs(velocity) > limits.speed).any())
    if not fast and not (np.maximum(abs(velocity - v), abs(velocity - moving)) > gain).any():
        return velocity, GateRule.NONE
    # The fastest from which the rest of the way suffices to slow down: d = v dt + v^2 / 2a.
    rest = way - moving * dt
    closing = acceleration * (np.sqrt(dt**2 + 2 * abs(rest) / acceleration) - dt)
    wish = np.clip(moving + np.copysign(closing, rest), -limits.speed, limits.speed)
    rules = GateRule.ACCELERATION | (GateRule.SPEED if fast else GateRule.NONE)
    return np.clip(wish, v - gain, v + gain), rules


def _periods(velocity: FloatArray, limits: SafetyLimits, dt: float) -> int:
    """Periods until standstill."""
    longest = float((abs(velocity) / (limits.acceleration * dt)).max())
    return max(1, int(np.ceil(longest * (1 - ROUNDING))))


def _slowed(velocity: FloatArray, limits: SafetyLimits, dt: float) -> FloatArray:
    periods = _periods(velocity, limits, dt)
    return velocity * ((periods - 1) / periods)


def _refused(
    q: FloatArray,
    step: FloatArray,
    velocity: FloatArray,
    measured: FloatArray,
    limits: SafetyLimits,
    space: Space,
    dt: float,
) -> GateRule:
    """Why a step must not be made, or NONE."""
    end = standstill(step, velocity, limits, dt)
    slack = ROUNDING * (limits.high - limits.low)
    for place in (step, end):
        if (place < limits.low - slack).any() or (place > limits.high + slack).any():
            return GateRule.RANGE
    if (abs(step - measured) > limits.jump).any():
        return GateRule.BRAKING_WAY
    if _too_fast(q, step, limits, space, dt):
        return GateRule.CARTESIAN_SPEED
    if space.blocked(q, step) or space.blocked(step, end):
        return GateRule.BRAKING_WAY
    return GateRule.NONE


def _with_calm_hands(
    q: FloatArray,
    v: FloatArray,
    wish: FloatArray,
    limits: SafetyLimits,
    space: Space,
    dt: float,
) -> FloatArray:
    """A velocity, scaled so that no hand is too fast by it, as far as acceleration lets it."""
    ratio = _farthest(q, q + wish * dt, space) / (limits.cartesian_speed * dt)
    if ratio <= 1.0:
        return wish
    gain = limits.acceleration * dt
    return np.clip(wish * (CALM_HANDS / ratio), v - gain, v + gain)


def _too_fast(
    start: FloatArray, end: FloatArray, limits: SafetyLimits, space: Space, dt: float
) -> bool:
    return _farthest(start, end, space) > limits.cartesian_speed * dt * (1 + ROUNDING)


def _farthest(start: FloatArray, end: FloatArray, space: Space) -> float:
    way = space.hands(end) - space.hands(start)
    return float(np.sqrt((way * way).sum(-1)).max())
