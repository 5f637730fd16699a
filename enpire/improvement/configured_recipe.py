"""A recipe with its settings: whatever is wrong in what it does is told as its own fault."""

from __future__ import annotations

import math
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from enpire.environment import Job, StationBackend
from enpire.errors import EnpireError, PolicyError, RecipeError, error_text
from enpire.improvement.collection import Collection
from enpire.improvement.recipe import Candidate, Collector, Particular, Recipe, RecipeInputs
from enpire.policies import ChunkSpec, LeRobotPolicy, PictureSpec, Policy, base_of
from enpire.policies.kinds import KINDS
from enpire.policies.levels import require_levels
from enpire.types import Purpose

END = object()
SIZES = ("history", "stride", "chunk", "hidden")  # of a policy's shape


@dataclass(frozen=True, slots=True)
class ConfiguredRecipe:
    """A recipe with its settings, and what policies that it makes are recorded with."""

    name: str
    recipe: Recipe
    # source, settings: what `remade` makes it of again
    source: str = ""
    settings: tuple[tuple[str, str], ...] = ()

    @property
    def max_staleness(self) -> float:
        """Rounds that its collection may lag behind: a recipe may cap it by an attribute."""
        return float(getattr(self.recipe, "max_staleness", math.inf))

    @property
    def needs_helper(self) -> bool:
        """Whether it has the loop's helper help, and says itself when: it says so likewise."""
        return bool(getattr(self.recipe, "needs_helper", False))

    @property
    def begins_from(self) -> str:
        """The kind of first policy that it improves best, `flow` or `chunk`; empty: any."""
        return str(getattr(self.recipe, "begins_from", ""))

    def improve(self, given: RecipeInputs) -> Candidate:
        """As `Recipe.improve`; whatever else goes wrong in it is a RecipeError too."""
        with self._blamed():
            candidate = self.recipe.improve(given)
        if not isinstance(candidate, Candidate):
            raise RecipeError(f"{self.name} returned a {type(candidate).__name__}, no Candidate")
        policy: Any = candidate.policy
        if type(policy) not in KINDS.values():
            told = repr(policy) if policy is None or isinstance(policy, type) else type(policy)
            raise RecipeError(
                f"{self.name}: its candidate's policy is {told!s:.80}, which cannot be kept: "
                f"{', '.join(KINDS)} can"
            )
        with self._blamed():
            require_sound(candidate.policy, given.spec)
        return replace(candidate, numbers=_numbers(self.name, candidate.numbers))

    def require(self, stations: StationBackend) -> None:
        """As `Collector.require`; any stations will do for who collects nothing of its own."""
        if isinstance(self.recipe, Collector):
            require: Callable[[StationBackend], Any] = self.recipe.require
            self._require_nothing_answered("require", require(stations))

    def require_policy(self, policy: Policy | None) -> None:
        """As `Particular.require_policy`; any policy will do for a recipe that does not say."""
        if isinstance(self.recipe, Particular):
            with self._blamed():
                require: Callable[[Policy | None], Any] = self.recipe.require_policy
                answer = require(policy)
            self._require_nothing_answered("require_policy", answer)

    def _require_nothing_answered(self, method: str, answer: Any) -> None:
        """Raise RecipeError for a truth in place of an error: it would count for nothing."""
        if answer is not None:
            raise RecipeError(
                f"{self.name}: {method} answers {answer!r:.80}, which says nothing: it raises "
                "RecipeError where the recipe cannot do, and returns None where it can"
            )

    def collect(self, asked: Collection) -> Iterator[Job | None]:
        """As `Collector.collect`; whatever goes wrong in it is a RecipeError.

        A job that is no collection of this round, or two of one id, are wrong too.
        """
        if not isinstance(self.recipe, Collector):
            yield from asked.plain()
            return
        ids: set[str] = set()
        with self._blamed():
            jobs = iter(self.recipe.collect(asked))
        while True:
            with self._blamed():  # not around `yield`: who closes this is not the recipe
                job = next(jobs, END)
                if job is END:
                    return
                if isinstance(job, Job):
                    self._require_own(job, asked, ids)
                elif job is not None:
                    raise RecipeError(f"{self.name}: collect yields {job!r:.80}: a Job is needed")
            yield job

    def _require_own(self, job: Job, asked: Collection, ids: set[str]) -> None:
        if (job.purpose, job.round) != (Purpose.COLLECTION, asked.round):
            raise RecipeError(f"{self.name}: {job.id} is no collection of round {asked.round}")
        if job.id in ids:
            raise RecipeError(f"{self.name}: two jobs of one id; give them variants of their own")
        ids.add(job.id)

    @contextmanager
    def _blamed(self) -> Iterator[None]:
        """Whatever the recipe's own code raises is a RecipeError that says where."""
        try:
            yield
        except EnpireError:  # its own
            raise
        except BaseException as error:  # sys.exit, too: it would end the run without a word
            at = traceback.extract_tb(error.__traceback__)[-1]
            if isinstance(error, KeyboardInterrupt) and not raises_itself(at, self.source):
                raise  # the end of the run
            what = error_text(error)
            raise RecipeError(f"{self.name}: {at.filename}:{at.lineno}: {what}") from error


def raises_itself(at: traceback.FrameSummary, source: str) -> bool:
    """Whether a line raises by itself, in a recipe's own file: Ctrl-C comes in any line."""
    return at.filename == source and (at.line or "").startswith("raise")


def _numbers(name: str, said: Any) -> dict[str, float]:
    """What a training showed; raises RecipeError unless it is finite numbers by their names."""
    try:
        numbers = {key: float(value) for key, value in said.items()}
        wrong = [key for key, value in numbers.items() if not math.isfinite(value)]
        wrong += [
            key for key in numbers if not (isinstance(key, str) and key.isprintable() and key)
        ]
        wrong += [key for key, value in said.items() if isinstance(value, str)]
    except (AttributeError, TypeError, ValueError, OverflowError) as error:
        raise RecipeError(
            f"{name}: its candidate's numbers are no numbers: {error_text(error)}"
        ) from error
    if wrong:
        raise RecipeError(
            f"{name}: of its candidate's numbers {wrong[0]!r:.40} is {said[wrong[0]]!r:.40}: "
            "finite numbers by their names are needed; has training diverged?"
        )
    return numbers


def require_sound(policy: Policy, spec: ChunkSpec) -> None:
    """Raise RecipeError unless a policy maps what it is shown to actions, by finite weights."""
    has, needs = ((s.observation, s.action) for s in (policy.spec, spec))
    base = base_of(policy)
    if isinstance(base, LeRobotPolicy) and base.spec.cameras and isinstance(spec, PictureSpec):
        needs = (base.spec.observation and len(spec.felt), spec.action)
    if has != needs:
        raise RecipeError(
            f"the candidate maps {has[0]} observations to {has[1]} actions; the task has "
            f"{needs[0]} and {needs[1]}"
        )
    if policy.spec.task not in ("", spec.task):
        raise RecipeError(f"the candidate is for {policy.spec.task}; the task is {spec.task}")
    for name in SIZES:
        sizes = np.atleast_1d(getattr(policy.spec, name, 1))
        if sizes.size and sizes.min() < 1:
            raise RecipeError(f"the candidate's {name} is {getattr(policy.spec, name)}: at least 1")
    chunk, execute = (getattr(policy.spec, name, 1) for name in ("chunk", "execute"))
    if not 1 <= execute <= chunk:
        raise RecipeError(f"the candidate executes {execute} of the {chunk} actions of a chunk")
    try:
        require_levels(getattr(policy.spec, "levels", ()), policy.spec.action)
    except PolicyError as error:
        raise RecipeError(f"the candidate: {error}") from error
    tensors = policy.tensors()
    wrong = [name for name, values in tensors.items() if not np.isfinite(values).all()]
    if wrong:
        raise RecipeError(f"the candidate's weights are not finite: {', '.join(wrong)}")
    if "std" in tensors and not (tensors["std"] > 0.0).all():
        raise RecipeError("the candidate divides what it sees by nought: std must be above 0")
    if "spread" in tensors and not (tensors["spread"] >= 0.0).all():
        raise RecipeError("the candidate's spread of actions is below nought")
