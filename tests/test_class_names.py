"""A class name stands for one thing, everywhere in the package."""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).parents[1]


def test_no_class_name_is_defined_twice() -> None:
    defined = defaultdict[str, list[str]](list)
    for path in sorted([*ROOT.glob("enpire/**/*.py"), *ROOT.glob("benchmarks/**/*.py")]):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ClassDef):
                defined[node.name].append(f"{path.relative_to(ROOT)}:{node.lineno}")
    assert len(defined) > 100, "the package was found"
    assert {name: places for name, places in defined.items() if len(places) > 1} == {}
