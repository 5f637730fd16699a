"""Twins: simulated stations, many in one process, on a few threads."""

from enpire.twin.composition import compose, read_scene
from enpire.twin.scene import ArmIndex, Scene
from enpire.twin.twin import Twin

__all__ = ["ArmIndex", "Scene", "Twin", "compose", "read_scene"]
