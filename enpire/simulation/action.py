"""The FollowJointTrajectory action server of a simulated station."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from enpire.drivers.ros2.action import GoalResult, GoalStatus, follow_joint_trajectory
from enpire.simulation.trajectory_follower import TrajectoryFollower
from enpire.types import FloatArray


class ServedGoal:
    """A goal of rclpy's server; see `Goal`."""

    def __init__(self, handle: Any, kind: Any, joints: Sequence[str]) -> None:
        """kind: the action's type."""
        self._handle, self._kind, self._joints = handle, kind, list(joints)
        self.request = handle.request

    @property
    def cancelled(self) -> bool:
        """See `Goal`."""
        return bool(self._handle.is_cancel_requested)

    def tell(self, desired: FloatArray, measured: FloatArray) -> None:
        """See `Goal`."""
        from trajectory_msgs.msg import JointTrajectoryPoint

        desired_, actual, error = (
            JointTrajectoryPoint(positions=each.tolist())
            for each in (desired, measured, desired - measured)
        )
        self._handle.publish_feedback(
            self._kind.Feedback(
                joint_names=self._joints, desired=desired_, actual=actual, error=error
            )
        )

    def end(self, ended: GoalResult) -> None:
        """See `Goal`: only now it is executed, which is done at once."""

        def execute(handle: Any) -> Any:
            if ended.status == GoalStatus.SUCCEEDED:
                handle.succeed()
            elif handle.is_cancel_requested:
                handle.canceled()
            else:
                handle.abort()
            return self._kind.Result(error_code=int(ended.code), error_string=ended.text)

        self._handle.execute(execute)


def serve(
    node: Any,
    controller: str,
    joints: Sequence[str],
    follower: TrajectoryFollower,
    active: Callable[[], bool],
    take: Callable[[ServedGoal], None],
) -> Any:
    """The server; `take` is given each goal. Raises DriverError without control_msgs.

    active: whether the controller is, which else takes no goal.
    """
    from rclpy.action.server import ActionServer, CancelResponse, GoalResponse

    kind = follow_joint_trajectory()

    def asked(request: Any) -> Any:
        refusal = follower.refusal(request) if active() else f"{controller} is not active"
        if refusal:
            node.get_logger().error(f"goal rejected: {refusal}")
            return GoalResponse.REJECT
        return GoalResponse.ACCEPT

    return ActionServer(
        node,
        kind,
        f"{controller}/follow_joint_trajectory",
        execute_callback=lambda handle: kind.Result(),  # of `end`, each its own
        goal_callback=asked,
        handle_accepted_callback=lambda handle: take(ServedGoal(handle, kind, joints)),
        cancel_callback=lambda handle: CancelResponse.ACCEPT,
    )
