"""The rules that a supervisor holds setpoints and stations to; which acted is recorded as flags."""

from __future__ import annotations

from enum import IntFlag


class GateRule(IntFlag):
    """What acted, in three groups: what slows down, what brakes, what stops at once."""

    NONE = 0
    # The setpoint sent is another one than was wanted.
    RANGE = 1 << 0
    SPEED = 1 << 1
    ACCELERATION = 1 << 2
    CARTESIAN_SPEED = 1 << 3
    BRAKING_WAY = 1 << 4  # as fast as wanted, there would be no free way left to brake in
    # Braked along the last direction, within all limits, then held.
    SIZE = 1 << 8
    FINITE = 1 << 9
    STALE = 1 << 10
    FUTURE = 1 << 11
    FLOOD = 1 << 12
    JUMP = 1 << 13
    WORKSPACE = 1 << 14
    KEEP_OUT = 1 << 15
    SELF_COLLISION = 1 << 16
    HEARTBEAT = 1 << 17
    CAMERA = 1 << 18
    VERIFIER = 1 << 19
    OWNER = 1 << 20  # whoever started the supervisor is gone
    ASKED = 1 << 21
    OVERRUN = 1 << 22  # the supervisor itself was held up
    # No setpoint is lawful, or none must be sent: the arm holds by its own means.
    DRIVER_AGE = 1 << 32
    DRIVER = 1 << 33  # it raised
    LAG = 1 << 34  # the arm is too far from where its setpoints are
    WRIST_FORCE = 1 << 35
    GRIPPER_FORCE = 1 << 36
    EMERGENCY = 1 << 37
    IMPLAUSIBLE = 1 << 38  # a joint is said to be where it cannot have come to

    @property
    def names(self) -> list[str]:
        """The names of the flags that are set, in words."""
        return [str(rule.name).lower().replace("_", " ") for rule in self]


BRAKES = GateRule(sum(1 << bit for bit in range(8, 32)))
HOLDS = GateRule(sum(1 << bit for bit in range(32, 48)))
LATCHES = GateRule.DRIVER | GateRule.EMERGENCY  # after these only a person lets the arms move again
