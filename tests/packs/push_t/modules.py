"""The task and the modules of its pack."""

from __future__ import annotations

import importlib
from functools import cache

from enpire.environment import Task, build_stations


@cache
def task() -> Task:
    return build_stations("push_t", 1, 1).task


def module(name: str):  # type: ignore[no-untyped-def]
    package = type(task()).__module__.rpartition(".")[0]
    return importlib.import_module(f"{package}.{name}")
