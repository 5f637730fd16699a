"""Symmetries that packs of this checkout name."""

from __future__ import annotations

from enpire.environment import Symmetry, load_task, read_symmetry
from enpire.packs import find


def named(task: str) -> Symmetry:
    symmetry = read_symmetry(load_task(find("tasks", task)))
    assert symmetry is not None
    return symmetry
