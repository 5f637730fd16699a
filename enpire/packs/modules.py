"""Importing a file that belongs to no installed package."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

from enpire.errors import PackError


def import_file(name: str, path: Path) -> ModuleType:
    """Run the file as the module `name`, which it is then in `sys.modules` too.

    Raises:
        PackError: it is no file that can be imported.
        Exception: whatever it raises; it is then in `sys.modules` no more.
    """
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise PackError(f"{path} cannot be imported: its name has to end in .py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # where dataclasses look for it
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module
