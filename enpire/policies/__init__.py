"""What maps observations to chunks of actions."""

from enpire.policies.asked import Asked, Base
from enpire.policies.best_of import BestOfPolicy, Chooser, ChooserSpec, Ensemble
from enpire.policies.chunk import ChunkPolicy
from enpire.policies.composed import BASES, Composed, base_of, eyes
from enpire.policies.driver import PolicyController
from enpire.policies.flow import FlowPolicy
from enpire.policies.kinds import load, metadata
from enpire.policies.lerobot import LeRobotPolicy, LeRobotSpec
from enpire.policies.picture import PicturePolicy
from enpire.policies.policy import Policy, Spec
from enpire.policies.program import ProgramPolicy, ProgramSpec
from enpire.policies.residual import Correction, CorrectionSpec, ResidualPolicy
from enpire.policies.seeing import Seen
from enpire.policies.skill import SkillPolicy, SkillSpec
from enpire.policies.spec import ChunkSpec, FlowSpec, PictureSpec, shape_for, shape_of
from enpire.policies.specialist import Quick, SpecialistPolicy, SpecialistSpec
from enpire.policies.steered import SteeredPolicy, Steering, SteeringSpec
from enpire.policies.variation import variations

__all__ = [
    "BASES",
    "Asked",
    "Base",
    "BestOfPolicy",
    "Chooser",
    "ChooserSpec",
    "ChunkPolicy",
    "ChunkSpec",
    "Composed",
    "Correction",
    "CorrectionSpec",
    "Ensemble",
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
    "Quick",
    "ResidualPolicy",
    "Seen",
    "SkillPolicy",
    "SkillSpec",
    "Spec",
    "SpecialistPolicy",
    "SpecialistSpec",
    "SteeredPolicy",
    "Steering",
    "SteeringSpec",
    "base_of",
    "eyes",
    "load",
    "metadata",
    "shape_for",
    "shape_of",
    "variations",
]
