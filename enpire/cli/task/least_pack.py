"""The least of a task's code that runs: without skill script, physical reset, and whole task.

Who begins a task of their own has neither at first, and code for another object only misleads.
"""

from __future__ import annotations

import ast
from collections.abc import Collection
from pathlib import Path
from typing import Any

LEFT_OUT = ("skill", "parameters", "restorer", "target_names")  # of a Task, unless its rest asks
WIDTH = 100  # of a line


def make_least(folder: Path) -> None:
    """Leave out of the pack in `folder` what it runs without, and modules that nobody then imports.

    Among these is `from_start.py`, by which a task that begins in the middle is run as a whole.
    """
    path = folder / "task.py"
    text = path.read_text("utf-8")
    rest = without(text, LEFT_OUT)
    path.write_text(without(text, [name for name in LEFT_OUT if f".{name}" not in rest]), "utf-8")
    modules = {each.stem: each for each in folder.glob("*.py")}
    needed: set[str] = set()
    coming = [path.stem]
    while coming:
        name = coming.pop()
        if name in modules and name not in needed:
            needed.add(name)
            coming += _siblings(modules[name].read_text("utf-8"))
    for name in modules.keys() - needed - {"__init__"}:
        modules[name].unlink()


def without(text: str, names: Collection[str]) -> str:
    """A module's text without these members of its classes, and without what only they import."""
    lines = text.splitlines(keepends=True)
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ClassDef):
            for member in node.body:
                if _name(member) in names:
                    _blank(lines, member)
    rest = "".join(line for line in lines if line)
    return _without_unused_imports(rest)


def _name(member: ast.stmt) -> str:
    if isinstance(member, ast.FunctionDef):
        return member.name
    single = getattr(member, "target", None)
    targets: list[Any] = member.targets if isinstance(member, ast.Assign) else [single]
    return next((each.id for each in targets if isinstance(each, ast.Name)), "")


def _blank(lines: list[str], node: ast.stmt) -> None:
    """Empty the lines of a statement; of a method also its comment, and blank lines before it."""
    decorators = getattr(node, "decorator_list", [])
    first = min([node.lineno, *(each.lineno for each in decorators)]) - 1
    for at in range(first, node.end_lineno or node.lineno):
        lines[at] = ""
    if isinstance(node, ast.FunctionDef):
        at = first - 1
        while lines[at].lstrip().startswith("#"):
            lines[at] = ""
            at -= 1
        while not lines[at].strip():
            lines[at] = ""
            at -= 1


def _without_unused_imports(text: str) -> str:
    tree = ast.parse(text)
    used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    lines = text.splitlines(keepends=True)
    for node in tree.body:
        if isinstance(node, ast.Import | ast.ImportFrom) and _module(node) != "__future__":
            kept = [each for each in node.names if (each.asname or each.name).split(".")[0] in used]
            if len(kept) < len(node.names):
                _blank(lines, node)
                lines[node.lineno - 1] = _written(node, kept) if kept else ""
    return "".join(line for line in lines if line)


def _module(node: ast.Import | ast.ImportFrom) -> str:
    if isinstance(node, ast.Import):
        return ""
    return "." * node.level + (node.module or "")


def _written(node: ast.Import | ast.ImportFrom, names: list[ast.alias]) -> str:
    each = [ast.unparse(name) for name in names]
    if isinstance(node, ast.Import):
        return f"import {', '.join(each)}\n"
    head = f"from {_module(node)} import "
    line = head + ", ".join(each)
    if len(line) <= WIDTH:
        return line + "\n"
    return f"{head}(\n" + "".join(f"    {name},\n" for name in each) + ")\n"


def _siblings(text: str) -> list[str]:
    """Modules of its own pack that a module imports."""
    found: list[str] = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom) and node.level == 1:
            names = [each.name for each in node.names] if node.module is None else []
            found += [node.module.partition(".")[0]] if node.module else names
    return found
