"""The check of the day, and if it passes the loop.

ros2 launch launch/ros2/loop.launch.py task:=pick_cube station:=left.toml motion:=--confirm-motion
"""

from launch.actions import (
    DeclareLaunchArgument,
    EmitEvent,
    ExecuteProcess,
    RegisterEventHandler,
)
from launch.event_handlers import OnProcessExit
from launch.events import Shutdown
from launch.substitutions import LaunchConfiguration

from launch import LaunchDescription

GRACE_S = "30"  # for arms to brake and hold, and records to be written, once it is to end


def generate_launch_description() -> LaunchDescription:
    """The loop starts the station's supervisor itself, and ends it: an arm has one owner."""
    station, task = LaunchConfiguration("station"), LaunchConfiguration("task")
    check = ExecuteProcess(cmd=["enpire", "station", "check", station], output="screen")
    loop = ExecuteProcess(
        cmd=["enpire", "loop", "--task", task, "--station", station, LaunchConfiguration("motion")],
        output="screen",
        sigterm_timeout=GRACE_S,
        sigkill_timeout=GRACE_S,
    )

    def checked(event, context):
        return [loop] if event.returncode == 0 else [EmitEvent(event=Shutdown(reason="not fit"))]

    return LaunchDescription(
        [
            DeclareLaunchArgument("station", description="the station file"),
            DeclareLaunchArgument("task", description="what is to be learned"),
            DeclareLaunchArgument(
                "motion", default_value="--dry-run", description="--confirm-motion: arms may move"
            ),
            check,
            RegisterEventHandler(OnProcessExit(target_action=check, on_exit=checked)),
        ]
    )
