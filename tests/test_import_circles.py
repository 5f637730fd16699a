"""No files of the package import each other in a circle.

A circle is a set of files of which each leads to all others by imports. Nobody can read, test or
move one of them without the rest. import-linter holds the order of packages and rooms; this test
holds the order of files.

What counts as an import:

- Every import statement counts: at the top of a file, inside a function, and under `TYPE_CHECKING`.
  A late import hides a circle from Python, but a reader has to follow it all the same.
- `from package import name` leads to the module `package.name` where there is one, and to the
  package's `__init__.py` otherwise.
- A name that a package hands on makes its `__init__.py` an importer like any other. A module that
  takes a name from its own package's `__init__.py` is therefore in a circle with it. It should
  import from the module that has the name.
- That `import a.b` runs `a/__init__.py` first does not count. Else every file would be in a circle
  with a package that hands on one of its names.
- `importlib.import_module` does not count. The public face in `enpire/__init__.py` loads its names
  that way, but it has the same modules under `TYPE_CHECKING`, and there they count. The rest name
  what another installation has, or what a user asks for.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import enpire

PACKAGE = Path(enpire.__file__).parent

Imports = dict[str, dict[str, int]]  # what a module imports, and the first line that does


def _module(path: Path, root: Path) -> str:
    parts = path.relative_to(root.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _named(node: ast.stmt, package: list[str]) -> Iterator[tuple[str, str | None]]:
    """The module, and the name out of it, of every import that a statement in `package` makes."""
    if isinstance(node, ast.Import):
        for alias in node.names:
            yield alias.name, None
    elif isinstance(node, ast.ImportFrom):
        above = package[: len(package) - node.level + 1] if node.level else []
        origin = ".".join([*above, *([node.module] if node.module else [])])
        for alias in node.names:
            yield origin, alias.name


def imports(root: Path) -> Imports:
    """Every module under the package at `root`, with the modules of the package that it imports."""
    files = {_module(path, root): path for path in sorted(root.rglob("*.py"))}
    graph: Imports = {module: {} for module in files}
    for module, path in files.items():
        package = module.split(".") if path.name == "__init__.py" else module.split(".")[:-1]
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.stmt):
                continue
            for origin, name in _named(node, package):
                target = f"{origin}.{name}" if f"{origin}.{name}" in files else origin
                if target in files:
                    line = graph[module].get(target, node.lineno)
                    graph[module][target] = min(line, node.lineno)
    return graph


def _reached(graph: Imports, start: str) -> set[str]:
    reached: set[str] = set()
    ahead = list(graph[start])
    while ahead:
        module = ahead.pop()
        if module not in reached:
            reached.add(module)
            ahead.extend(graph[module])
    return reached


def circles(graph: Imports) -> list[list[str]]:
    """The sets of modules that lead to each other, or a module that imports itself."""
    reached = {module: _reached(graph, module) for module in graph}
    found = {
        tuple(sorted(other for other in reached[module] if module in reached[other]))
        for module in graph
        if module in reached[module]
    }
    return [list(circle) for circle in sorted(found)]


def _described(circle: list[str], graph: Imports, root: Path) -> str:
    """The imports inside a circle, a line each: the file and line, and what it imports."""
    rows = []
    for module in circle:
        path = root.parent.joinpath(*module.split("."))
        file = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
        for target, line in graph[module].items():
            if target in circle:
                rows.append(f"  {file.relative_to(root.parent)}:{line} imports {target}")
    return "\n".join([f"a circle of {len(circle)} files:", *rows])


def test_no_files_import_each_other_in_a_circle() -> None:
    graph = imports(PACKAGE)
    found = [_described(circle, graph, PACKAGE) for circle in circles(graph)]
    assert not found, "\n" + "\n".join(found)


@pytest.mark.parametrize(
    "statement",
    [
        "from package import b",
        "from . import b",
        "from .b import thing",
        "import package.b",
        "def late():\n    from package.b import thing",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from package.b import thing",
    ],
)
def test_a_circle_is_found_however_its_import_is_written(tmp_path: Path, statement: str) -> None:
    root = tmp_path / "package"
    root.mkdir()
    (root / "__init__.py").write_text("")
    (root / "a.py").write_text(statement + "\n")
    (root / "b.py").write_text("import package.a\nthing = 1\n")
    graph = imports(root)
    assert circles(graph) == [["package.a", "package.b"]]
    assert "package/b.py:1 imports package.a" in _described(["package.a", "package.b"], graph, root)


def test_a_module_that_imports_from_its_own_face_is_in_a_circle(tmp_path: Path) -> None:
    root = tmp_path / "package"
    root.mkdir()
    (root / "__init__.py").write_text("from .a import thing\nother = 1\n")
    (root / "a.py").write_text("from . import other\nthing = 1\n")
    assert circles(imports(root)) == [["package", "package.a"]]
    (root / "a.py").write_text("thing = 1\n")
    assert circles(imports(root)) == []
