"""Arms and their surroundings over ROS 2: rclpy of an installation, or of `enpire[ros2]`."""
