"""What a recipe is: episodes and the incumbent in, a candidate policy out."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from enpire.errors import UsageError
from enpire.improvement import recipes
from enpire.packs.finder import unknown
from enpire.policies import ChunkPolicy, ChunkSpec
from enpire.types import Episode


@dataclass(frozen=True, slots=True)
class Candidate:
    """A policy that a recipe proposes, and what its training showed."""

    policy: ChunkPolicy
    numbers: dict[str, float]


class Recipe(Protocol):
    """One way to improve a policy. Implementations are dataclasses; their fields are settings."""

    def improve(
        self,
        spec: ChunkSpec,
        episodes: Sequence[Episode],
        incumbent: ChunkPolicy | None,
        seed: int,
    ) -> Candidate:
        """Learn from all episodes so far, demonstrations among them, failures too.

        Args:
            spec: the shape the candidate must have.
            episodes: what the store holds, never a sealed one.
            incumbent: the best policy so far; None in the first round.
            seed: of everything random.

        Raises:
            RecipeError: training diverged or lacks data; the incumbent stays.
        """
        ...


def names() -> list[str]:
    """Names of the built-in recipes."""
    return sorted(module.name for module in pkgutil.iter_modules(recipes.__path__))


def find(name: str) -> Recipe:
    """The built-in recipe `name` with its default settings; raises UsageError if there is none."""
    if name not in names():
        raise UsageError(unknown("recipe", name, names()))
    recipe: Recipe = importlib.import_module(f"{recipes.__name__}.{name}").RECIPE()
    return recipe
