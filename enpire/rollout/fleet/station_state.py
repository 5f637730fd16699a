"""What a station does right now, for who watches a fleet."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class StationState:
    """What a station does right now."""

    number: int
    doing: str  # `running`, `idle`, or `aside`
    # Since the episode began, or the station's time was last accounted for, on the stations' clock
    # [s].
    since_s: float
    job: str = ""  # id of the episode under way; empty where there is none
    # purpose, policy: of that episode
    purpose: str = ""
    policy: str = ""
    reason: str = ""  # why the station is aside, or will be after its episode
