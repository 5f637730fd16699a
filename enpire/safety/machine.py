"""The states of a station under its supervisor, and the only ways from one to another."""

from __future__ import annotations

from enum import IntEnum

from enpire.errors import SafetyError


class Mode(IntEnum):
    """What a station may do; it sends setpoints in `SENDS` only."""

    IDLE = 0  # nobody has armed it
    ARMED = 1  # stands still, ready for a setpoint
    MOVING = 2  # follows setpoints
    STOPPING = 3  # brakes
    HOLDING = 4  # stands still after a stop, till somebody recovers or parks it
    LATCHED = 5  # likewise, till a person clears it
    PARKING = 6  # goes to its posture for parking by itself


class Event(IntEnum):
    """What may lead from one state to another."""

    ARM = 0
    SETPOINT = 1
    RESTED = 2
    LAPSE = 3
    STANDSTILL = 4
    HOLD = 5
    LATCH = 6
    CLEAR = 7
    RECOVER = 8
    PARK = 9
    ARRIVED = 10
    DISARM = 11


SENDS = frozenset({Mode.MOVING, Mode.STOPPING, Mode.PARKING})
ACTIVE = SENDS | {Mode.ARMED}

_NEXT = {
    (Mode.IDLE, Event.ARM): Mode.ARMED,
    (Mode.IDLE, Event.PARK): Mode.PARKING,
    (Mode.ARMED, Event.SETPOINT): Mode.MOVING,
    (Mode.ARMED, Event.PARK): Mode.PARKING,
    (Mode.ARMED, Event.DISARM): Mode.IDLE,
    (Mode.MOVING, Event.RESTED): Mode.ARMED,
    (Mode.ARMED, Event.LAPSE): Mode.STOPPING,
    (Mode.MOVING, Event.LAPSE): Mode.STOPPING,
    (Mode.PARKING, Event.LAPSE): Mode.STOPPING,
    (Mode.STOPPING, Event.STANDSTILL): Mode.HOLDING,
    (Mode.HOLDING, Event.RECOVER): Mode.ARMED,
    (Mode.HOLDING, Event.PARK): Mode.PARKING,
    (Mode.PARKING, Event.ARRIVED): Mode.IDLE,
    (Mode.LATCHED, Event.CLEAR): Mode.HOLDING,
    **{(mode, Event.HOLD): Mode.HOLDING for mode in ACTIVE},
    **{(mode, Event.LATCH): Mode.LATCHED for mode in Mode},
}


def after(mode: Mode, event: Event) -> Mode:
    """The state that an event leads to; raises SafetyError where it leads nowhere."""
    try:
        return _NEXT[mode, event]
    except KeyError:
        hint = ": a person has to clear it first" if mode is Mode.LATCHED else ""
        raise SafetyError(
            f"a station that is {mode.name.lower()} cannot {event.name.lower()}{hint}"
        ) from None
