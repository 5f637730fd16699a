"""A simulated station.

ros2 launch launch/ros2/simulated.launch.py station:=left.toml task:=pick_cube
"""

from launch.actions import DeclareLaunchArgument, ExecuteProcess
from launch.substitutions import LaunchConfiguration

from launch import LaunchDescription


def generate_launch_description() -> LaunchDescription:
    """Arms, objects, tracker and emergency stop of one station, in real time."""
    command = ["enpire", "station", "sim", LaunchConfiguration("station")]
    for name in ("task", "faults", "seed"):
        command += [f"--{name}", LaunchConfiguration(name)]
    return LaunchDescription(
        [
            DeclareLaunchArgument("station", description="the station file, driver ros2"),
            DeclareLaunchArgument("task", description="whose objects lie there"),
            DeclareLaunchArgument("faults", default_value="none", description="as --faults"),
            DeclareLaunchArgument("seed", default_value="0", description="of scenes and faults"),
            ExecuteProcess(cmd=command, name="simulated_station", output="screen"),
        ]
    )
