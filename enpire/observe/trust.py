"""Whether code that a run's configuration names by a path may be run.

It may if the run was made here, by this user, and what is at the path is what the run had then.
Anything else has to be allowed by name. `docs/threat-model.md` says why.
"""

from __future__ import annotations

import json

from enpire.errors import EnpireError, StoreError
from enpire.improvement import recipe_finding as recipes
from enpire.json_text import loads
from enpire.packs import find
from enpire.packs.finder import Kind
from enpire.store import Run
from enpire.store.layout import CONFIG
from enpire.store.ledger import Ledger
from enpire.store.origin import code_paths, is_path, made_here

RECIPES = "recipe_files"  # fact of a ledger: what its recipes were called with their hashes


def recipes_called(recipe: str, first_recipe: str, demonstrator: str = "") -> dict[str, str]:
    """The fact that says which files of recipes, and of a demonstrator, a run began with."""
    named = (*recipe.split(","), first_recipe, demonstrator)
    files = {name: recipes.called(name) for name in named if name and is_path(name, "recipe")}
    return {RECIPES: json.dumps(files)} if files else {}


def distrusted(run: Run) -> str:
    """Why code that the run names by a path is not to be run; empty if there is no reason."""
    settings = run.asked
    paths = code_paths(settings)
    if not paths:
        return ""
    named = ", ".join(f"{name} = {value!r}" for name, value in paths.items())
    config = run.folder / CONFIG
    if not made_here(config.read_bytes(), run.ledger.facts()):
        return (
            f"{config} names code by its path ({named}) and was not written here by this user: "
            "look at that code, and give --trust to run it"
        )
    changed = _changed(paths, run.ledger)
    if not changed:
        return ""
    return f"{changed} is not what it was when {run.folder} began: put it back, or give --trust"


def require_trusted(run: Run, trust: bool) -> None:
    """Refuse to go on with code that is not to be trusted.

    Raises:
        StoreError: it names such, and `trust` was not given.
    """
    if not trust and (reason := distrusted(run)):
        raise StoreError(reason)


def _changed(paths: dict[str, str], ledger: Ledger) -> str:
    """The first path at which something else is than the ledger says."""
    packs = ledger.packs()
    kinds: tuple[tuple[str, Kind], ...] = (("task", "tasks"), ("world", "sim"))
    for name, kind in kinds:
        if name not in paths:
            continue
        try:
            pack = find(kind, paths[name])
        except EnpireError:
            return paths[name]
        if packs.get(f"{kind}/{pack.name}") != pack.sha256:
            return paths[name]
    for path, called in loads(ledger.facts().get(RECIPES, "{}")).items():
        try:
            now = recipes.called(path)
        except EnpireError:
            now = ""
        if now != called:
            return str(path)
    return ""
