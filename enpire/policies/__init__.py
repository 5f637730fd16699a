"""What maps observations to chunks of actions."""

from enpire.policies.best_of import BestOfPolicy, Chooser, ChooserSpec, CriticEnsemble
from enpire.policies.chunk import ChunkPolicy
from enpire.policies.chunk_sampler import Base, ChunkSampler
from enpire.policies.composed import BASES, Composed, base_of
from enpire.policies.estimated import EstimatedPolicy
from enpire.policies.flow import FlowPolicy
from enpire.policies.kinds import eyes, load, metadata
from enpire.policies.lerobot import LeRobotPolicy, LeRobotSpec
from enpire.policies.picture import PicturePolicy
from enpire.policies.policy import Policy, Spec
from enpire.policies.policy_runner import PolicyController
from enpire.policies.program import ProgramPolicy, ProgramSpec
from enpire.policies.residual import Correction, CorrectionSpec, ResidualPolicy
from enpire.policies.skill import SkillPolicy, SkillSpec
from enpire.policies.spec import ChunkSpec, FlowSpec, PictureSpec, shape_for, shape_of
from enpire.policies.specialist import Quick, SpecialistPolicy, SpecialistSpec
from enpire.policies.state_estimator import StateEstimator
from enpire.policies.steered import NoiseSteering, SteeredPolicy, SteeringSpec
from enpire.policies.variation import variations
from enpire.policies.vision import ObservationMask

__all__ = [
    "BASES",
    "Base",
    "BestOfPolicy",
    "Chooser",
    "ChooserSpec",
    "ChunkPolicy",
    "ChunkSampler",
    "ChunkSpec",
    "Composed",
    "Correction",
    "CorrectionSpec",
    "CriticEnsemble",
    "EstimatedPolicy",
    "FlowPolicy",
    "FlowSpec",
    "LeRobotPolicy",
    "LeRobotSpec",
    "NoiseSteering",
    "ObservationMask",
    "PicturePolicy",
    "PictureSpec",
    "Policy",
    "PolicyController",
    "ProgramPolicy",
    "ProgramSpec",
    "Quick",
    "ResidualPolicy",
    "SkillPolicy",
    "SkillSpec",
    "Spec",
    "SpecialistPolicy",
    "SpecialistSpec",
    "StateEstimator",
    "SteeredPolicy",
    "SteeringSpec",
    "base_of",
    "eyes",
    "load",
    "metadata",
    "shape_for",
    "shape_of",
    "variations",
]
