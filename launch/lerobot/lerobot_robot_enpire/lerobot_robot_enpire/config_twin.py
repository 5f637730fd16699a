"""The robot's config, by which LeRobot knows it."""

from __future__ import annotations

from dataclasses import dataclass, field

from lerobot.robots.config import RobotConfig


@RobotConfig.register_subclass("enpire_twin")
@dataclass(kw_only=True)
class EnpireTwinConfig(RobotConfig):
    """The arms of a task, with its objects about them.

    seed: of the scene that `connect` sets up; the next `connect` has the next one's. pictures: by
    these cameras of its world, of width x height pixels.
    """

    task: str = "pick_cube"
    seed: int = 0
    pictures: list[str] = field(default_factory=list)
    width: int = 640
    height: int = 480
