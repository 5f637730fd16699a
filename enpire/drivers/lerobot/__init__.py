"""Arms that LeRobot drives: any `lerobot.robots.Robot`, plugin packages included."""

from enpire.drivers.lerobot.driver import LeRobot

__all__ = ["LeRobot"]
