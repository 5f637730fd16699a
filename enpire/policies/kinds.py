"""The kinds of policies, by the name that a policy's file has in its metadata."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from numpy.typing import NDArray

from enpire.errors import PolicyError
from enpire.policies.best_of import BestOfPolicy
from enpire.policies.chunk import ChunkPolicy
from enpire.policies.composed import base_of, eyes_of
from enpire.policies.estimated import EstimatedPolicy
from enpire.policies.flow import FlowPolicy
from enpire.policies.lerobot import LeRobotPolicy
from enpire.policies.picture import PicturePolicy
from enpire.policies.policy import Policy
from enpire.policies.program import ProgramPolicy
from enpire.policies.remote import RemotePolicy
from enpire.policies.residual import ResidualPolicy
from enpire.policies.skill import SkillPolicy
from enpire.policies.specialist import SpecialistPolicy
from enpire.policies.steered import SteeredPolicy

KINDS: dict[str, type[Policy]] = {
    kind.kind: kind
    for kind in (
        ChunkPolicy,
        FlowPolicy,
        PicturePolicy,
        EstimatedPolicy,
        SkillPolicy,
        ProgramPolicy,
        LeRobotPolicy,
        RemotePolicy,
        ResidualPolicy,
        BestOfPolicy,
        SpecialistPolicy,
        SteeredPolicy,
    )
}


def metadata(policy: Policy) -> dict[str, str]:
    """What a policy's file says beside the tensors."""
    return {"kind": policy.kind, "spec": policy.spec.to_json()}


def load(metadata: Mapping[str, str], tensors: Mapping[str, NDArray[Any]]) -> Policy:
    """The policy of a file with this `metadata`; one that names no kind is a chunk policy.

    Raises:
        PolicyError: it has no spec, is of a kind that is not known, or its tensors do not fit.
    """
    if "spec" not in metadata:
        raise PolicyError("the policy's file does not say what shape it has")
    kind = metadata.get("kind", ChunkPolicy.kind)
    if kind not in KINDS:
        known = ", ".join(KINDS)
        raise PolicyError(f"a policy of kind {kind!r}; this version knows: {known}")
    return KINDS[kind].load(metadata["spec"], tensors)


def eyes(policy: Policy) -> tuple[tuple[str, ...], int]:
    """The cameras that a policy looks through, and the size of its pictures [px], 0 for none."""
    if isinstance(policy, EstimatedPolicy):
        return policy.estimator.spec.cameras, policy.estimator.spec.size
    return eyes_of(base_of(policy))
