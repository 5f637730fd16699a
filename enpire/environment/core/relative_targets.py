"""Targets that a policy may learn as ways from where things are: those of joints."""

from __future__ import annotations

from dataclasses import dataclass

from enpire.environment.core.station_backend import StationBackend, Tasked, grippers


@dataclass(frozen=True, slots=True)
class RelativeTarget:
    """An entry of an action that says where something is to be, which is observed, too."""

    done: int  # entry of an action
    seen: int  # entry of an observation
    scale: float  # of the action, for one unit of what is seen


def relative_targets(stations: StationBackend) -> tuple[RelativeTarget, ...]:
    """Return those of actions there: every joint's, where actions set joints; else none.

    A gripper's target is none of them. It is shown a few values only, wherever its fingers are.
    """
    if not isinstance(stations, Tasked) or not stations.task.joint_actions:
        return ()
    from enpire.environment.core.motors import Motors  # which loads drivers

    if (motors := Motors.of(stations.task)) is None:
        return ()
    return tuple(
        RelativeTarget(entry, entry, 2.0 / (high - low))  # joints come first in what is observed
        for entry, (low, high) in enumerate(zip(motors.low, motors.high, strict=True))
        if entry not in grippers(stations)
    )
