"""What a recipe is: episodes and the incumbent in, a candidate policy out.

It may say, too, what a round's episodes are.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from enpire.environment import Job, Parameter, RelativeTarget, StationBackend, Symmetry
from enpire.errors import RecipeError
from enpire.improvement.checkpoint import NOWHERE, Checkpoint
from enpire.improvement.collection import Collection
from enpire.policies import ChunkPolicy, ChunkSpec, Policy
from enpire.renamed import renamed
from enpire.types import Episode, Purpose


@dataclass(frozen=True, slots=True)
class RecipeInputs:
    """What a recipe learns from.

    spec: the shape of a network for the task. episodes: all so far, demonstrations among them,
    failures too, never a sealed one. incumbent: the policy to improve on; None for a first one.
    seed: of everything random. checkpoint: where training keeps how far it is. parameters: of the
    task's skill script, if it has one. instruction: the task in words. name: of the incumbent, as
    in `Episode.policy`. grippers: entries of an action that open and close hands. symmetry: how the
    task's scene may be moved, if its pack says so. relative: entries of an action that may be
    learned as ways from where things are.
    """

    spec: ChunkSpec
    episodes: Sequence[Episode]
    incumbent: Policy | None
    seed: int
    checkpoint: Checkpoint = NOWHERE
    parameters: tuple[Parameter, ...] = ()
    instruction: str = ""
    name: str = ""
    grippers: tuple[int, ...] = ()
    symmetry: Symmetry | None = None
    relative: tuple[RelativeTarget, ...] = ()


@dataclass(frozen=True, slots=True)
class Candidate:
    """A policy that a recipe proposes, and what its training showed."""

    policy: Policy
    numbers: dict[str, float]


class Recipe(Protocol):
    """One way to improve a policy. Implementations are dataclasses; their fields are settings."""

    def improve(self, given: RecipeInputs) -> Candidate:
        """Make a candidate; the same one, to the last bit, however often training was cut short.

        Raises:
            RecipeError: training diverged or lacks data; the incumbent stays.
        """


@runtime_checkable
class Collector(Protocol):
    """A recipe that says what a round's episodes are; without it they are `Collection.plain`."""

    def require(self, stations: StationBackend) -> None:
        """Raise UsageError unless these stations can run its episodes."""

    def collect(self, asked: Collection) -> Iterator[Job | None]:
        """The round's jobs, `asked.count` of them; the same ones whenever it is asked the same.

        They are asked for one by one as stations come free: what takes time to find out is found
        out in a thread, while jobs that do not need it are run (`meanwhile`). None among them: none
        is due yet, ask again.

        Raises:
            RecipeError: nothing can be collected; the round ends without a candidate.
        """


@runtime_checkable
class Particular(Protocol):
    """A recipe that improves policies of some kinds only; without it any policy is tried."""

    def require_policy(self, policy: Policy | None) -> None:
        """Raise RecipeError unless it can improve this policy, before a robot moves for it."""


def chunk_policy(name: str, policy: Policy | None) -> ChunkPolicy:
    """This policy, for the recipe `name`, which improves chunk policies only.

    Raises:
        RecipeError: there is none, or it is of another kind.
    """
    if policy is None:
        raise RecipeError(f"{name} improves a policy: start with another recipe, such as bc")
    if not isinstance(policy, ChunkPolicy):
        raise RecipeError(
            f"{name} improves policies of kind {ChunkPolicy.kind!r}; the incumbent is of kind "
            f"{policy.kind!r}: choose another recipe, or begin with --first-recipe.policy chunk"
        )
    return policy


def required(name: str, given: RecipeInputs) -> ChunkPolicy:
    """As `chunk_policy`, of the incumbent."""
    return chunk_policy(name, given.incumbent)


def latest(episodes: Sequence[Episode]) -> tuple[list[Episode], list[Episode]]:
    """The episodes that the latest round collected, and all from before; no empty ones."""
    some = [episode for episode in episodes if len(episode)]
    last = max((e.round for e in some if e.purpose is Purpose.COLLECTION), default=0)
    new = [e.purpose is Purpose.COLLECTION and e.round == last for e in some]
    fresh = [e for e, is_new in zip(some, new, strict=True) if is_new]
    older = [e for e, is_new in zip(some, new, strict=True) if not is_new]
    return fresh, older


__getattr__ = renamed(__name__, {"Given": "RecipeInputs"})
