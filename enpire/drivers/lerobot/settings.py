"""What `[lerobot]` says, read without LeRobot: see `driver.py` and `leader.py`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

from enpire.drivers.lerobot.axes import Axes
from enpire.errors import PackError
from enpire.packs import Robot
from enpire.packs.toml import Table

DEGREES = "use_degrees"  # of the config of LeRobot's SO arms; true unless it is given


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
        rows = table.tables("axes")
        axes = Axes.read(rows)
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
        degrees = config.get(DEGREES, True)
        if not isinstance(degrees, bool):
            raise PackError(f"{table.where}: {DEGREES} is {degrees!r:.80}: true or false is needed")
        linear = next((row for row in rows if not row.has("theirs")), None)
        if not degrees and linear is not None:
            raise PackError(
                f"{linear.where}: with {DEGREES} = false a joint goes from -100 to 100, and "
                f"{linear.text('motor')} is read in {linear.text('unit', 'degrees')}: give theirs "
                "and ours, or take that out"
            )
        return cls(table.text("type"), config, axes)
