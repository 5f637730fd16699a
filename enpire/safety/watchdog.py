"""How old may be what a moving arm relies on. All times are ns of the monotonic clock."""

from __future__ import annotations

from dataclasses import dataclass

from enpire.safety.rules import GateRule

HEARTBEAT_S = 0.020
DRIVER_S = 0.050
TOLERANCE_S = 0.001  # a stamp may lie so far ahead: two processes read the same clock


@dataclass(frozen=True, slots=True)
class Ages:
    """The oldest that each may be [s]; camera and verifier only where a station names them."""

    heartbeat: float = HEARTBEAT_S
    driver: float = DRIVER_S
    camera: float = 0.5
    verifier: float = 5.0


def too_old(stamp: int, now: int, age: float) -> bool:
    """Whether what was stamped then is older than `age` seconds."""
    return now - stamp > age * 1e9


def fault_of_stamp(stamp: int, last: int, now: int, age: float) -> GateRule:
    """What is wrong with a new message's stamp, given the last one's: stale, future or nothing."""
    if stamp - now > TOLERANCE_S * 1e9:
        return GateRule.FUTURE
    if stamp <= last or too_old(stamp, now, age):
        return GateRule.STALE
    return GateRule.NONE
