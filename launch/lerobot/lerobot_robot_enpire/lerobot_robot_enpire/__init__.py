"""Twins of enpire as robots of LeRobot's: `--robot.type=enpire_twin --robot.task=pick_cube`."""

from lerobot_robot_enpire.config_twin import EnpireTwinConfig
from lerobot_robot_enpire.twin import EnpireTwin

__all__ = ["EnpireTwin", "EnpireTwinConfig"]
