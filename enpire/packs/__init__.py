"""Packs: folders that the harness finds by name (robots, tasks, agents, worlds)."""

from enpire.packs.finder import CERTIFICATE, KINDS, Pack, available, content_hash, find
from enpire.packs.robot import Arm, JointLimits, Robot, load_robot
from enpire.packs.world import World, load_world

__all__ = [
    "CERTIFICATE",
    "KINDS",
    "Arm",
    "JointLimits",
    "Pack",
    "Robot",
    "World",
    "available",
    "content_hash",
    "find",
    "load_robot",
    "load_world",
]
