"""Old names that code of users may still import; they work for one release, with a warning."""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Callable, Mapping
from typing import Any


def renamed(module: str, names: Mapping[str, str]) -> Callable[[str], Any]:
    """Return a `__getattr__` for `module` that finds what is called otherwise now.

    names: the new name of each old one. Whoever asks for an old one gets a FutureWarning: Python
    hides a DeprecationWarning outside the main script, and recipes and packs are modules.
    """

    def find(name: str) -> Any:
        if name not in names:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        new = names[name]
        warnings.warn(
            f"{module}.{name} is called {new} now: import that; the old name goes with 0.3",
            FutureWarning,
            stacklevel=2,
        )
        return getattr(importlib.import_module(module), new)

    return find


def moved(old: str, new: str) -> Callable[[str], Any]:
    """Return a `__getattr__` for the module `old`, all of whose names are in the module `new` now.

    Whoever asks for one gets a FutureWarning.
    """

    def find(name: str) -> Any:
        found = getattr(importlib.import_module(new), name)
        warnings.warn(
            f"{old} is called {new} now: import {name} from there; the old module goes with 0.3",
            FutureWarning,
            stacklevel=2,
        )
        return found

    return find
