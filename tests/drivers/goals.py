"""FollowJointTrajectory without ROS 2: what tests need of its messages, and of a server."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np

from enpire.drivers.ros2.action import GoalResult
from enpire.types import FloatArray


def duration(seconds: float) -> Any:
    return SimpleNamespace(sec=int(seconds), nanosec=round(seconds % 1 * 1e9))


def point(positions: Sequence[float], seconds: float, velocities: Sequence[float] = ()) -> Any:
    return SimpleNamespace(
        positions=list(positions), velocities=list(velocities), time_from_start=duration(seconds)
    )


def request(names: Sequence[str], *points: Any, path: Any = (), goal: Any = ()) -> Any:
    """path, goal: tolerances by name; that of the goal within 0.1 s."""
    path, goal = (
        [SimpleNamespace(name=name, position=value) for name, value in dict(said).items()]
        for said in (path, goal)
    )
    return SimpleNamespace(
        trajectory=SimpleNamespace(joint_names=list(names), points=list(points)),
        path_tolerance=path,
        goal_tolerance=goal,
        goal_time_tolerance=duration(0.1),
    )


class PlainGoal:
    """An accepted goal that notes what becomes of it."""

    def __init__(self, what: Any) -> None:
        self.request, self.cancelled = what, False
        self.ended: GoalResult | None = None
        self.told: list[tuple[FloatArray, FloatArray]] = []

    def tell(self, desired: FloatArray, measured: FloatArray) -> None:
        self.told.append((desired, measured))

    def end(self, ended: GoalResult) -> None:
        assert self.ended is None
        self.ended = ended


class PlainServices:
    """An action server that answers when the test says so."""

    def __init__(self) -> None:
        self.sent: list[tuple[bytes, FloatArray, Callable[[bool], None]]] = []
        self.results: dict[bytes, Callable[[GoalResult], None]] = {}
        self.cancels: list[tuple[bytes | None, Callable[[bool], None]]] = []

    def send(self, goal: bytes, position: FloatArray, then: Callable[[bool], None]) -> None:
        self.sent.append((goal, np.array(position), then))

    def result(self, goal: bytes, then: Callable[[GoalResult], None]) -> None:
        self.results[goal] = then

    def cancel(self, goal: bytes | None, then: Callable[[bool], None]) -> None:
        self.cancels.append((goal, then))
