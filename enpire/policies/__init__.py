"""What maps observations to chunks of actions."""

from enpire.policies.chunk import ChunkPolicy
from enpire.policies.driver import PolicyController
from enpire.policies.flow import FlowPolicy
from enpire.policies.kinds import load, metadata
from enpire.policies.lerobot import LeRobotPolicy, LeRobotSpec
from enpire.policies.picture import PicturePolicy
from enpire.policies.policy import Policy, Spec
from enpire.policies.program import ProgramPolicy, ProgramSpec
from enpire.policies.skill import SkillPolicy, SkillSpec
from enpire.policies.spec import ChunkSpec, FlowSpec, PictureSpec, shape_for, shape_of
from enpire.policies.variation import variations

__all__ = [
    "ChunkPolicy",
    "ChunkSpec",
    "FlowPolicy",
    "FlowSpec",
    "LeRobotPolicy",
    "LeRobotSpec",
    "PicturePolicy",
    "PictureSpec",
    "Policy",
    "PolicyController",
    "ProgramPolicy",
    "ProgramSpec",
    "SkillPolicy",
    "SkillSpec",
    "Spec",
    "load",
    "metadata",
    "shape_for",
    "shape_of",
    "variations",
]
