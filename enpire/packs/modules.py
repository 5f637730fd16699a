"""Importing files that belong to no installed package: always from their source.

Python would rather take bytecode that lies beside a file, and no pack's hash tells what that does.
So none is looked at, and none is written.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType

from enpire.errors import PackError

PREFIX = "enpire_pack_"  # begins the private package that a pack is imported as


class FromSource(SourceFileLoader):
    """Compiles the file that is there."""

    def get_code(self, fullname: str) -> CodeType:
        """See `importlib.abc.InspectLoader`."""
        path = self.get_filename(fullname)
        code: CodeType = self.source_to_code(self.get_data(path), path)
        return code


class PackModules(MetaPathFinder):
    """Finds what modules of a pack import of one another: sources in its folder, nothing else."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """See `importlib.abc.MetaPathFinder`.

        Raises:
            ModuleNotFoundError: the pack has no such source; no other finder is asked.
        """
        if not fullname.startswith(PREFIX) or path is None:
            return None
        name = fullname.rpartition(".")[2]
        for folder in map(Path, path):
            inner = folder / name
            if (inner / "__init__.py").is_file():
                return _spec(fullname, inner / "__init__.py", inner)
            if (folder / f"{name}.py").is_file():
                return _spec(fullname, folder / f"{name}.py")
            if inner.is_dir():
                found = ModuleSpec(fullname, None, is_package=True)
                found.submodule_search_locations = [str(inner)]
                return found
        raise ModuleNotFoundError(f"the pack has no {name}.py", name=fullname)


sys.meta_path.insert(0, PackModules())


def import_file(name: str, path: Path) -> ModuleType:
    """Run the file as the module `name`, which it is then in `sys.modules` too.

    Raises:
        PackError: it is no file that can be imported.
        Exception: whatever it raises; it is then in `sys.modules` no more.
    """
    if path.suffix != ".py":
        raise PackError(f"{path} cannot be imported: its name has to end in .py")
    spec = _spec(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # where dataclasses look for it
    try:
        FromSource(name, str(path)).exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def import_of_pack(package: str, path: Path) -> ModuleType:
    """Run a file of a pack, once, as a module of the private package `package`.

    package: begins with `PREFIX`. What it imports relatively comes from the file's folder.

    Raises:
        Exception: whatever it raises.
    """
    name = f"{package}.{path.stem}"
    if name in sys.modules:
        return sys.modules[name]
    if package not in sys.modules:
        parent = ModuleType(package)
        parent.__path__ = [str(path.parent)]
        sys.modules[package] = parent
    return import_file(name, path)


def _spec(name: str, path: Path, package: Path | None = None) -> ModuleSpec:
    spec = importlib.util.spec_from_file_location(
        name,
        path,
        loader=FromSource(name, str(path)),
        submodule_search_locations=[str(package)] if package else None,
    )
    if spec is None:
        raise PackError(f"{path} cannot be imported")
    return spec
