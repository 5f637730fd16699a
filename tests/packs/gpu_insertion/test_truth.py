"""The truth shares nothing with the verifier: it is told from the simulator by its own measures."""

from __future__ import annotations

import ast

from enpire.packs import find


def test_the_truth_imports_nothing_of_its_pack() -> None:
    file = find("tasks", "gpu_insertion").folder / "truth.py"
    imports = [
        node
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.Import | ast.ImportFrom)
    ]
    relative = [node for node in imports if isinstance(node, ast.ImportFrom) and node.level]
    assert imports
    assert not relative, "the pack's own modules are the verifier's"
    names = [node.module or "" for node in imports if isinstance(node, ast.ImportFrom)]
    ours = {name for name in names if name.startswith("enpire")}
    assert ours <= {"enpire.twin", "enpire.types"}
