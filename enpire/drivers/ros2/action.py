"""Setpoints as goals of FollowJointTrajectory, for controllers that take nothing else.

A goal is one point: the newest setpoint, to be reached in a little longer than until the next goal,
which takes its place. So an arm is always between setpoints, and comes to rest at the last one when
no more come. What a controller ends for any other reason than a newer goal is a fault.

The action is used by its services: the ActionClient of rclpy 9.1 keeps a future of every goal for
ever, and loses an answer that comes before it has noted the second one.
"""

from __future__ import annotations

import threading
import uuid
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, Protocol

import numpy as np

from enpire.drivers.driver import Clock
from enpire.drivers.ros2.messages import trajectory
from enpire.errors import DriverError
from enpire.types import FloatArray

PERIOD_S = 0.04  # between two goals: each is a call of a service, and controllers log them
REACH_S = 0.06  # in which a goal is to be reached: the next one may be half a period late
ANSWER_S = 0.5  # without an answer to a goal or a cancel: nobody is there
RESULTS = 100  # waited for at a time, should a controller never tell of goals it has replaced
MISSING = (
    'command = "action" needs control_msgs, which cannot be imported ({error}): install '
    "ros-DISTRO-control-msgs beside your ROS 2 and source it, or build it with python "
    "launch/ros2/control_msgs/build.py FOLDER and put FOLDER on PYTHONPATH"
)


class Code(IntEnum):
    """FollowJointTrajectory's error codes."""

    SUCCESSFUL = 0
    INVALID_GOAL = -1
    INVALID_JOINTS = -2
    OLD_HEADER_TIMESTAMP = -3
    PATH_TOLERANCE_VIOLATED = -4
    GOAL_TOLERANCE_VIOLATED = -5


class GoalStatus(IntEnum):
    """How goals end, of action_msgs/GoalStatus."""

    UNKNOWN = 0
    SUCCEEDED = 4
    CANCELED = 5
    ABORTED = 6


VIOLATED = (Code.PATH_TOLERANCE_VIOLATED, Code.GOAL_TOLERANCE_VIOLATED)


@dataclass(frozen=True, slots=True)
class GoalResult:
    """How a goal ended. code: of `Code`, or a controller's own."""

    status: int
    code: int
    text: str = ""

    @property
    def good(self) -> bool:
        """Whether it was reached."""
        return self.status == GoalStatus.SUCCEEDED and self.code == Code.SUCCESSFUL

    def __str__(self) -> str:
        names = {int(each): each.name for each in Code}
        status = (
            GoalStatus(self.status).name.lower() if self.status in list(GoalStatus) else self.status
        )
        return f"{status}, {names.get(self.code, self.code)}{': ' if self.text else ''}{self.text}"


class Services(Protocol):
    """What an action server is asked; `then` is called with the answer, in any thread."""

    def send(self, goal: bytes, position: FloatArray, then: Callable[[bool], None]) -> None:
        """Ask it to go to a position, (joints,); the answer: whether it will. goal: 16 bytes."""

    def result(self, goal: bytes, then: Callable[[GoalResult], None]) -> None:
        """Ask how a goal has ended, once it has."""

    def cancel(self, goal: bytes | None, then: Callable[[bool], None]) -> None:
        """Ask it to give up a goal, or all of them; the answer: whether it does."""


class Goals:
    """The newest setpoint, as goals: `send` in one thread, `tick` every `PERIOD_S` in another."""

    def __init__(self, services: Services, clock: Clock, say: Callable[[str], None]) -> None:
        """say: is told of each fault."""
        self._services, self._clock, self._say = services, clock, say
        self._lock = threading.Lock()
        self._wanted: FloatArray | None = None
        self._number = 0  # of the goal that was sent last
        self._stopped = 0  # goals up to this one count no more
        self._stops = 0
        self._unanswered: int | None = None  # since when a goal or a cancel waits for its answer
        self._fault = ""

    def send(self, position: FloatArray) -> None:
        """Go there, (joints,); raises DriverError if a goal has failed since the last stop."""
        with self._lock:
            if self._fault:
                raise DriverError(self._fault)
            self._wanted = np.array(position)

    def stop(self) -> None:
        """Have all goals given up: the controller holds where the arms are."""
        with self._lock:
            self._wanted, self._fault = None, ""
            self._stopped, self._unanswered = self._number, self._clock()
            self._stops += 1
            stop = self._stops
        self._services.cancel(None, lambda given_up: self._cancelled(stop, given_up))

    def tick(self) -> None:
        """Send a goal, if there is a newer setpoint and the last goal is answered."""
        with self._lock:
            if self._fault:
                return
            if self._unanswered is not None:
                if self._clock() - self._unanswered > ANSWER_S * 1e9:
                    self._fail(f"the controller has not answered for {ANSWER_S:g} s")
                return
            if self._wanted is None:
                return
            position, self._wanted = self._wanted, None
            self._number, self._unanswered = self._number + 1, self._clock()
            number, goal = self._number, uuid.uuid4().bytes
        self._services.send(goal, position, lambda takes: self._answered(number, goal, takes))

    def _answered(self, number: int, goal: bytes, takes: bool) -> None:
        with self._lock:
            late = number <= self._stopped
            if not late:
                self._unanswered = None
                if not takes:
                    self._fail(
                        "the controller has rejected a goal: is it active, and are its joints "
                        "those of [ros2]?"
                    )
        if takes and late:  # it was under way when all goals were given up
            self._services.cancel(goal, lambda given_up: None)
        elif takes:
            self._services.result(goal, lambda ended: self._end(number, ended))

    def _end(self, number: int, ended: GoalResult) -> None:
        with self._lock:
            replaced = number != self._number and ended.code not in VIOLATED
            if number > self._stopped and not ended.good and not replaced:
                self._fail(f"the controller has ended a goal: {ended}")

    def _cancelled(self, stop: int, given_up: bool) -> None:
        with self._lock:
            if stop != self._stops:
                return
            self._unanswered = None
            if not given_up:
                self._fail("the controller refuses to cancel")

    def _fail(self, fault: str) -> None:
        if not self._fault:
            self._fault = fault
            self._say(fault)


def follow_joint_trajectory() -> Any:
    """The action's type; raises DriverError that says how to come by it."""
    try:
        from control_msgs.action import FollowJointTrajectory
    except ImportError as error:
        raise DriverError(MISSING.format(error=error)) from error
    return FollowJointTrajectory


class ActionServices:
    """The services of an action server on a node's network."""

    def __init__(self, node: Any, action: str, joints: Sequence[str]) -> None:
        """action: its name. joints: names in messages. Raises DriverError without control_msgs."""
        from action_msgs.srv import CancelGoal

        self._kind, self._joints = follow_joint_trajectory(), list(joints)
        services = self._kind.Impl
        self.name = str(node.resolve_topic_name(action))
        self._send = node.create_client(services.SendGoalService, f"{action}/_action/send_goal")
        self._result = node.create_client(services.GetResultService, f"{action}/_action/get_result")
        self._cancel = node.create_client(CancelGoal, f"{action}/_action/cancel_goal")
        self._results: deque[Any] = deque()

    @property
    def ready(self) -> bool:
        """Whether there is a server that hears and is heard."""
        return all(each.service_is_ready() for each in (self._send, self._result, self._cancel))

    def send(self, goal: bytes, position: FloatArray, then: Callable[[bool], None]) -> None:
        """See `Services`."""
        request = self._kind.Impl.SendGoalService.Request(
            goal_id=_identifier(goal),
            goal=self._kind.Goal(trajectory=trajectory(self._joints, position, None, REACH_S)),
        )
        _call(self._send, request, lambda answer: then(bool(answer.accepted)))

    def result(self, goal: bytes, then: Callable[[GoalResult], None]) -> None:
        """See `Services`."""
        request = self._kind.Impl.GetResultService.Request(goal_id=_identifier(goal))

        def ended(answer: Any) -> None:
            then(GoalResult(answer.status, answer.result.error_code, answer.result.error_string))

        self._results.append(_call(self._result, request, ended))
        if len(self._results) > RESULTS:
            self._result.remove_pending_request(self._results.popleft())

    def cancel(self, goal: bytes | None, then: Callable[[bool], None]) -> None:
        """See `Services`."""
        from action_msgs.srv import CancelGoal

        request = CancelGoal.Request()  # of no goal and no time: all of them
        if goal is not None:
            request.goal_info.goal_id = _identifier(goal)
        rejected = CancelGoal.Response.ERROR_REJECTED
        _call(self._cancel, request, lambda answer: then(answer.return_code != rejected))


def _identifier(goal: bytes) -> Any:
    from unique_identifier_msgs.msg import UUID

    return UUID(uuid=np.frombuffer(goal, np.uint8))


def _call(client: Any, request: Any, then: Callable[[Any], None]) -> Any:
    future = client.call_async(request)
    future.add_done_callback(lambda done: then(done.result()))
    return future
