"""Recipes by their names or files, with settings."""

from __future__ import annotations

import hashlib
import importlib
import os
import pkgutil
import traceback
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

from enpire.errors import PackError, UsageError, error_text, printable
from enpire.improvement import recipes
from enpire.improvement.configured_recipe import ConfiguredRecipe, raises_itself
from enpire.improvement.recipe import Recipe
from enpire.improvement.recipe_checks import SHOWN, require_recipe
from enpire.improvement.settings import configured
from enpire.packs.finder import unknown
from enpire.packs.modules import import_file
from enpire.real_path import real_path

LONGEST_NAME = 255  # bytes, of a file
# Recipes that older runs name.
TAKEN_OUT = ("habc", "keyframe", "lookahead", "progress", "sac_flow", "wsrl")


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
        if isinstance(error, KeyboardInterrupt) and not raises_itself(at, where):
            raise
        raise UsageError(f"{where}: RECIPE() does not come about: {error_text(error)}") from error
    try:
        require_recipe(recipe, where)
    except UsageError:
        raise
    except Exception as error:  # of attributes that are code
        raise UsageError(f"{where} cannot be looked at: {error_text(error)}") from error
    found: Recipe = recipe
    return found


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
        if isinstance(error, KeyboardInterrupt) and not (at and raises_itself(at[-1], str(path))):
            raise
        line = error.lineno if isinstance(error, SyntaxError) else at[-1].lineno if at else 1
        raise UsageError(f"{path}:{line or 1}: {error_text(error)}") from error
