"""What a recipe is: episodes and the incumbent in, a candidate policy out.

It may say, too, what a round's episodes are.
"""

from __future__ import annotations

import functools
import hashlib
import importlib
import inspect
import math
import os
import pkgutil
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, is_dataclass, replace
from pathlib import Path
from types import ModuleType
from typing import Any, Protocol, runtime_checkable

import numpy as np

from enpire.environment import Job, Parameter, RelativeTarget, StationBackend, Symmetry
from enpire.errors import (
    EnpireError,
    PackError,
    PolicyError,
    RecipeError,
    UsageError,
    error_text,
    printable,
)
from enpire.improvement import recipes
from enpire.improvement.checkpoint import NOWHERE, Checkpoint
from enpire.improvement.collection import Collection
from enpire.improvement.settings import configured
from enpire.packs.finder import unknown
from enpire.packs.modules import import_file
from enpire.policies import ChunkPolicy, ChunkSpec, LeRobotPolicy, PictureSpec, Policy, base_of
from enpire.policies.kinds import KINDS
from enpire.policies.levels import require_levels
from enpire.real_path import real_path
from enpire.renamed import renamed
from enpire.types import Episode, Purpose

SHOWN = 80  # characters of a value in a message
LONGEST_NAME = 255  # bytes, of a file
TAKEN_OUT = (
    "habc",
    "keyframe",
    "lookahead",
    "progress",
    "sac_flow",
    "wsrl",
)  # older runs name them


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
            if isinstance(error, KeyboardInterrupt) and not _raises(at, self.source):
                raise  # the end of the run
            what = error_text(error)
            raise RecipeError(f"{self.name}: {at.filename}:{at.lineno}: {what}") from error


def _raises(at: traceback.FrameSummary, source: str) -> bool:
    """Whether a line raises by itself, in a recipe's own file: Ctrl-C comes in any line."""
    return at.filename == source and (at.line or "").startswith("raise")


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


END = object()
BEGINNINGS = "", "chunk", "flow"  # kinds of a first policy
METHODS = (
    "improve",
    "collect",
    "require",
    "require_policy",
    "learner",
)  # that are called with one argument
SIZES = ("history", "stride", "chunk", "hidden")  # of a policy's shape


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


def names() -> list[str]:
    """Names of the built-in recipes."""
    return sorted(module.name for module in pkgutil.iter_modules(recipes.__path__))


def find(name: str) -> ConfiguredRecipe:
    """The built-in recipe `name`, or the one in the file `name`, with its default settings.

    A file's is called after what is in it, too: `mine@1a2b3c4d`.

    Raises:
        UsageError: there is none, or its file does not import; the message says where.
    """
    if "\0" in name:
        raise UsageError(f"{name!r:.80} is no recipe: a name or a file has no NUL")
    if _of_a_file(name):
        path = real_path(name)
        module = _import(path)
        return ConfiguredRecipe(module.__name__, _recipe_of(module, str(path)), str(path))
    if name in TAKEN_OUT:
        raise UsageError(
            f"recipe {name!r} is no longer part of enpire, so a run of it cannot go on; a new loop "
            "takes its policy up: enpire loop --task NAME --policy RUN"
        )
    if name not in names():
        raise UsageError(unknown("recipe", name, names()) + "; a file of your own ends in .py")
    return ConfiguredRecipe(
        name, _recipe_of(importlib.import_module(f"{recipes.__name__}.{name}"), name), name
    )


def called(name: str) -> str:
    """What policies of the recipe `name` are recorded with; see `find`.

    Raises:
        UsageError: its file is not there.
    """
    return _called(real_path(name)) if _of_a_file(name) else name


def schedule(text: str, settings: Mapping[str, str]) -> list[ConfiguredRecipe]:
    """The recipes of `a,b,c`, in the order of rounds; the last one goes on.

    settings: by name, `training.lr` for one; each holds for all recipes that have it.

    Raises:
        UsageError: no such recipe, a setting that none of them has, or a value it cannot take.
    """
    made: list[ConfiguredRecipe] = []
    taken: set[str] = set()
    for name in text.split(","):
        found = find(name)
        recipe, its = configured(found.recipe, settings)
        chosen = tuple((key, settings[key]) for key in sorted(its))
        made.append(replace(found, recipe=recipe, settings=chosen))
        taken |= its
    for key in settings.keys() - taken:
        raise UsageError(f"--recipe.{key}: no such setting; enpire recipes show NAME lists them")
    return made


def remade(source: str, settings: Mapping[str, str]) -> ConfiguredRecipe:
    """The same recipe in another process, of its `source` and `settings`."""
    (made,) = schedule(source, settings)
    return made


def _recipe_of(module: ModuleType, where: str) -> Recipe:
    made: Any = getattr(module, "RECIPE", None)
    if not callable(made):
        has = "no RECIPE" if made is None else f"RECIPE = {printable(repr(made), SHOWN)}"
        raise UsageError(f"{where} is no recipe: it has {has}, and a dataclass with improve is due")
    try:
        recipe: Any = made()
    except BaseException as error:
        at = traceback.extract_tb(error.__traceback__)[-1]
        if isinstance(error, KeyboardInterrupt) and not _raises(at, where):
            raise
        raise UsageError(f"{where}: RECIPE() does not come about: {error_text(error)}") from error
    try:
        _require_recipe(recipe, where)
    except UsageError:
        raise
    except Exception as error:  # of attributes that are code
        raise UsageError(f"{where} cannot be looked at: {error_text(error)}") from error
    found: Recipe = recipe
    return found


def _require_methods(recipe: Any, where: str) -> None:
    """Raise UsageError where something else stands in a method's place; no property is run."""
    for name in METHODS:
        static = inspect.getattr_static(recipe, name, END)
        if static is END:
            continue
        if isinstance(static, property | functools.cached_property):
            what = "a property"
        elif inspect.isroutine(value := getattr(recipe, name)):
            continue
        else:
            what = printable(repr(value), SHOWN)
        raise UsageError(f"{where}: {name} is {what}: a method is due, def {name}(self, given)")


def _require_attributes(recipe: Any, where: str) -> None:
    """Raise UsageError for what a recipe says of itself, and a loop asks hours from now."""
    staleness = getattr(recipe, "max_staleness", 0.0)
    number = isinstance(staleness, int | float) and not isinstance(staleness, bool)
    if not (number and staleness >= 0.0):
        raise UsageError(f"{where}: max_staleness is {staleness!r:.80}: rounds from 0 up are due")
    if not isinstance(needs := getattr(recipe, "needs_helper", False), bool):
        raise UsageError(f"{where}: needs_helper is {needs!r:.80}: True or False is due")
    if (begins := getattr(recipe, "begins_from", "")) not in BEGINNINGS:
        raise UsageError(f"{where}: begins_from is {begins!r:.80}: flow or chunk is due")


def _require_recipe(recipe: Any, where: str) -> None:
    """Raise UsageError for what could not improve a policy, hours from now."""
    if is_dataclass(recipe):
        _require_methods(recipe, where)
    if not is_dataclass(recipe) or not hasattr(recipe, "improve"):
        raise UsageError(
            f"{where} is no recipe: RECIPE() is {printable(repr(recipe), SHOWN)}, and a dataclass "
            "with improve is due"
        )
    _require_callable(recipe, where)
    _require_attributes(recipe, where)


def _require_callable(recipe: Any, where: str) -> None:
    """Raise UsageError for methods that could not be called in a round, hours from now."""
    has = [name for name in METHODS if hasattr(recipe, name)]
    if ("collect" in has) != ("require" in has):
        raise UsageError(f"{where}: collect and require come together, and it has one of them")
    for name in has:
        method = getattr(recipe, name)
        try:
            inspect.signature(method).bind(None)
        except (TypeError, ValueError) as error:
            raise UsageError(f"{where}: {name} is called with one argument: {error}") from error
        later = inspect.isgeneratorfunction(method) and name != "collect"
        if later or inspect.iscoroutinefunction(method):
            raise UsageError(f"{where}: {name} returns before it is done: no async, and no yield")


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


def _of_a_file(name: str) -> bool:
    return name.endswith(".py") or os.sep in name


def _called(path: Path) -> str:
    if len(path.name) > LONGEST_NAME or not path.is_file():
        what = "is a folder" if os.path.isdir(path) else "is not there"
        raise UsageError(f"{path!s:.300} {what}: --recipe takes a name or a file")
    return f"{path.stem}@{hashlib.sha256(path.read_bytes()).hexdigest()[:8]}"


def _import(path: Path) -> ModuleType:
    name = _called(path)
    try:
        return import_file(name, path)
    except PackError as error:
        raise UsageError(str(error)) from error
    except BaseException as error:  # sys.exit, too
        at = [f for f in traceback.extract_tb(error.__traceback__) if f.filename == str(path)]
        if isinstance(error, KeyboardInterrupt) and not (at and _raises(at[-1], str(path))):
            raise
        line = error.lineno if isinstance(error, SyntaxError) else at[-1].lineno if at else 1
        raise UsageError(f"{path}:{line or 1}: {error_text(error)}") from error


__getattr__ = renamed(__name__, {"Given": "RecipeInputs", "Named": "ConfiguredRecipe"})
