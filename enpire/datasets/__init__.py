"""Episodes as LeRobot datasets (v3), out and in."""

from enpire.datasets.arm_model import ArmModel
from enpire.datasets.camera_columns import Shown, shown_of
from enpire.datasets.columns import Layout
from enpire.datasets.compatibility import Allowed, TaskInterface
from enpire.datasets.exporting import export
from enpire.datasets.importing import Imported, demonstrations
from enpire.datasets.replays import again
from enpire.datasets.starts import (
    LONG,
    demonstrated,
    first_seen,
    moved_by,
    own_demonstrations,
    random_motion,
)

__all__ = [
    "LONG",
    "Allowed",
    "ArmModel",
    "Imported",
    "Layout",
    "Shown",
    "TaskInterface",
    "again",
    "demonstrated",
    "demonstrations",
    "export",
    "first_seen",
    "moved_by",
    "own_demonstrations",
    "random_motion",
    "shown_of",
]
