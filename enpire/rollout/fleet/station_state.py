"""What a station does right now, for who watches a fleet."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class StationState:
    """What a station does right now.

    Attributes:
        doing: `running`, `idle`, or `aside`.
        since_s: since the episode began, or the station's time was last accounted for, on the
            stations' clock [s].
        job: id of the episode under way; empty where there is none.
        purpose, policy: of that episode.
        reason: why the station is aside, or will be after its episode.
    """

    number: int
    doing: str
    since_s: float
    job: str = ""
    purpose: str = ""
    policy: str = ""
    reason: str = ""
