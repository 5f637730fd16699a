"""What is wrong with a recipe, seen before a round asks it for anything."""

from __future__ import annotations

import functools
import inspect
from dataclasses import is_dataclass
from typing import Any

from enpire.errors import UsageError, printable

SHOWN = 80  # characters of a value in a message
END = object()
BEGINNINGS = "", "chunk", "flow"  # kinds of a first policy
# Methods that are called with one argument.
METHODS = ("improve", "collect", "require", "require_policy", "learner")


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


def require_recipe(recipe: Any, where: str) -> None:
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
