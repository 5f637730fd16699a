"""What holds of every truth that goes by another route than its verifier."""

from __future__ import annotations

import ast
from dataclasses import replace
from functools import partial
from pathlib import Path

from enpire.certification.fakes import FakeResult, show
from enpire.environment import Fake, Stations
from enpire.packs import find


def imported(task: str) -> set[str]:
    """The modules that a task's truth imports, by name; those of its own pack begin with a dot."""
    source = (Path(find("tasks", task).folder) / "truth.py").read_text(encoding="utf-8")
    names = set[str]()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom):
            names.add("." * node.level + (node.module or ""))
        elif isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
    return names


def shown(stations: Stations, fake: Fake, seed: int = 0) -> FakeResult:
    """What verifier, by sensors, and truth say of one state."""
    task = stations.task
    fakes = task.fakes
    task.fakes = lambda: (fake,)  # type: ignore[method-assign]
    try:
        (result,) = show(stations, [seed], None)
    finally:
        task.fakes = fakes  # type: ignore[method-assign]
    return result


def made(task_module, name: str, **changed: object) -> Fake:  # type: ignore[no-untyped-def]
    """One state of a `fakes` module, changed, held still."""
    state = replace(getattr(task_module, name), **changed)
    return Fake(name, "", partial(task_module.write, state))
