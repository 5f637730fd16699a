"""Cameras of a station.

ros2 launch launch/ros2/cameras.launch.py namespace:=/left front:=/dev/video0
"""

from launch.actions import DeclareLaunchArgument
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node

from launch import LaunchDescription

CAMERAS = ("front", "side")  # as the bench's world calls them


def generate_launch_description() -> LaunchDescription:
    """One v4l2_camera a camera, rgb8 at 1280 x 960, on NAMESPACE/CAMERA/image_raw."""
    said = [DeclareLaunchArgument("namespace", default_value="")]
    nodes = []
    for number, camera in enumerate(CAMERAS):
        said.append(DeclareLaunchArgument(camera, default_value=f"/dev/video{2 * number}"))
        nodes.append(
            Node(
                package="v4l2_camera",
                executable="v4l2_camera_node",
                namespace=[LaunchConfiguration("namespace"), f"/{camera}"],
                parameters=[
                    {
                        "video_device": LaunchConfiguration(camera),
                        "image_size": [1280, 960],
                        "output_encoding": "rgb8",
                    }
                ],
            )
        )
    return LaunchDescription([*said, *nodes])
