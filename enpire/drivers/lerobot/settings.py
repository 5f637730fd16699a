"""What `[lerobot]` says, read without LeRobot: see `driver.py` and `leader.py`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

from enpire.drivers.lerobot.axes import Axes
from enpire.errors import PackError
from enpire.packs import Robot
from enpire.packs.toml import Table


@dataclass(frozen=True, slots=True, eq=False)
class LeRobotSettings:
    """The type of a LeRobot robot, the fields of its config, and what its motors stand for."""

    kind: str
    config: dict[str, Any]
    axes: Axes

    @classmethod
    def read(cls, table: Table, robot: Robot) -> Self:
        """Raises PackError naming file and key."""
        table.require_known("type", "config", "axes", "teleoperator")
        if not table.has("type"):
            raise PackError(f"{table.where}: type is missing: the name of a LeRobot robot")
        axes = Axes.read(table.tables("axes"))
        needed = sum(len(arm.home) + 1 for arm in robot.arms)
        if len(axes.keys) != needed:
            raise PackError(
                f"{table.where}: {len(axes.keys)} axes; {robot.name} has {needed}: arm after arm, "
                "joints and then the gripper"
            )
        if table.has("teleoperator"):
            leader = table.table("teleoperator")
            leader.require_known("type", "config")
            leader.text("type")
        config = table.mapping("config") if table.has("config") else {}
        return cls(table.text("type"), config, axes)
