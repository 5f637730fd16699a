"""A trajectory controller that is commanded by the FollowJointTrajectory action.

As ros2_control's joint_trajectory_controller does: one goal at a time, and a newer one takes the
place of the last; feedback on the way; where joints leave their tolerance a goal is aborted, and
the arms hold where they are; where somebody cancels it, likewise.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from enpire.drivers.ros2.action import Code, GoalResult, GoalStatus
from enpire.types import FloatArray

TOLERANCE = 0.2  # on the way, of a joint of which a goal says nothing [rad]
FEEDBACK_S = 0.05  # between two words of where the arms are


class Goal(Protocol):
    """A goal that was accepted.

    request: FollowJointTrajectory's Goal. cancelled: somebody has asked for its end.
    """

    request: Any

    @property
    def cancelled(self) -> bool:
        """See the class."""

    def tell(self, desired: FloatArray, measured: FloatArray) -> None:
        """Feedback: positions, (joints,)."""

    def end(self, ended: GoalResult) -> None:
        """It is over."""


class TrajectoryFollower:
    """Carries out goals for joints of these names, one at a time."""

    def __init__(self, joints: Sequence[str]) -> None:
        """Begin at rest."""
        self._joints = list(joints)
        self._open: list[Goal] = []  # accepted and not ended
        self._goal: Goal | None = None
        self._times: FloatArray = np.zeros(0)  # of its points, ns of the clock
        self._points: FloatArray = np.zeros((0, len(self._joints)))
        self._told = 0

    def refusal(self, request: Any) -> str:
        """Why it takes no such goal; empty if it does."""
        names, points = list(request.trajectory.joint_names), request.trajectory.points
        if sorted(names) != sorted(self._joints):
            return f"joints are {', '.join(self._joints)}, not {', '.join(names)}"
        if not points:
            return "a trajectory has at least one point"
        times = [_seconds(point.time_from_start) for point in points]
        if times[0] < 0.0 or (np.diff(times) <= 0.0).any():
            return f"times do not increase: {times}"
        for point in points:
            if len(point.positions) != len(names) or not np.isfinite(point.positions).all():
                return f"a point has {len(names)} finite positions, not {list(point.positions)}"
        if any(point.velocities and np.any(point.velocities) for point in points[-1:]):
            return "the last point is not at rest"
        return ""

    def accept(self, goal: Goal) -> None:
        """A goal that it will carry out once it is told to, or once that is lost on its way."""
        self._open.append(goal)

    def begin(self, now: int, goal: Goal, measured: FloatArray) -> None:
        """Follow this goal from now on; now: ns. measured: (joints,) [rad]."""
        if goal not in self._open:
            return  # a newer one was faster
        start = measured if self._goal is None else self._desired(now)
        while (older := self._open[0]) is not goal:
            self._end(
                older, GoalResult(GoalStatus.ABORTED, Code.INVALID_GOAL, "replaced by a newer goal")
            )
        self._goal = goal
        message = goal.request.trajectory
        order = [list(message.joint_names).index(name) for name in self._joints]
        seconds = [_seconds(point.time_from_start) for point in message.points]
        self._times = now + 1e9 * np.array([0.0, *(max(each, 1e-9) for each in seconds)])
        self._points = np.array(
            [start, *(np.array(point.positions)[order] for point in message.points)]
        )

    def tick(self, now: int, measured: FloatArray) -> FloatArray | None:
        """What to ask of the joints, (joints,) [rad]; None: nothing anew."""
        for goal in [one for one in self._open if one.cancelled]:
            self._end(goal, GoalResult(GoalStatus.CANCELED, Code.SUCCESSFUL, "cancelled"))
            if goal is self._goal:
                self._goal = None
                return measured.copy()
        if self._goal is None:
            return None
        goal, desired = self._goal, self._desired(now)
        ended = self._judged(now, desired, measured, goal.request)
        if now - self._told >= FEEDBACK_S * 1e9:
            self._told = now
            goal.tell(desired, measured)
        if ended is None:
            return desired
        self._end(goal, ended)
        self._goal = None
        return desired if ended.good else measured.copy()

    def _end(self, goal: Goal, ended: GoalResult) -> None:
        self._open.remove(goal)
        goal.end(ended)

    def _desired(self, now: int) -> FloatArray:
        return np.array([np.interp(now, self._times, column) for column in self._points.T])

    def _judged(
        self, now: int, desired: FloatArray, measured: FloatArray, request: Any
    ) -> GoalResult | None:
        """How the goal ends now, if it does."""
        off = abs(desired - measured)
        allowed = self._tolerances(request.path_tolerance, TOLERANCE)
        if (off > allowed).any():
            return self._violated(Code.PATH_TOLERANCE_VIOLATED, off, allowed)
        late = now - self._times[-1]
        if late < 0:
            return None
        allowed = self._tolerances(request.goal_tolerance, np.inf)
        if (off <= allowed).all():
            return GoalResult(GoalStatus.SUCCEEDED, Code.SUCCESSFUL)
        wait = _seconds(request.goal_time_tolerance)  # nought: for as long as it takes
        if wait and late > wait * 1e9:
            return self._violated(Code.GOAL_TOLERANCE_VIOLATED, off, allowed)
        return None

    def _violated(self, code: Code, off: FloatArray, allowed: FloatArray) -> GoalResult:
        worst = int(np.argmax(off - allowed))
        text = f"{self._joints[worst]} is {off[worst]:.3f} rad off, {allowed[worst]:.3f} allowed"
        return GoalResult(GoalStatus.ABORTED, code, text)

    def _tolerances(self, said: Sequence[Any], usual: float) -> FloatArray:
        """(joints,): 0 in a goal stands for the usual one, and -1 for none."""
        positions = {one.name: one.position for one in said}
        found = [positions.get(name, 0.0) or usual for name in self._joints]
        return np.array([each if each > 0.0 else np.inf for each in found])


def _seconds(duration: Any) -> float:
    return float(duration.sec + duration.nanosec * 1e-9)
