"""The modules of a task's pack."""

from __future__ import annotations

import importlib

from enpire.environment import Task


def module(task: Task, name: str):  # type: ignore[no-untyped-def]
    package = type(task).__module__.rpartition(".")[0]
    return importlib.import_module(f"{package}.{name}")
