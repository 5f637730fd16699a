"""Arms and their surroundings over ROS 2, by rclpy: of a sourced installation, or `enpire[ros2]`."""
