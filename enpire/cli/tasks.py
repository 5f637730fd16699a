"""`enpire tasks`: the tasks that can be found, a line each."""

from __future__ import annotations

import ast
from argparse import Namespace
from pathlib import Path

from enpire.cli.options.parser import Parser

DESCRIPTION = """\
List the tasks that can be found, a line each; of one name the first counts. A task is certified
once `enpire task check NAME --full` has passed it; a certificate is old once the task, its robot
or its world has changed."""


def add_options(parser: Parser) -> None:
    """None but --help."""


def run(options: Namespace) -> int:
    """Print the list."""
    from enpire.packs.certificates import certificate_state
    from enpire.packs.finder import FROM_START, available, find
    from enpire.packs.signing import standing

    names = available("tasks")
    width = max(map(len, names), default=0)
    for name in names:
        pack = find("tasks", name)
        folder = pack.folder
        both = "  (--begin start)" if (folder / FROM_START).is_file() else ""
        signed = f"  ({said})" if (said := standing(pack)) else ""
        certified = f"  ({certificate_state(folder)})"
        print(f"{name:<{width}}  {first_line(folder / 'task.py')}{both}{certified}{signed}")
    if not names:
        print("no task found: make ./tasks/<name>/task.py")
    return 0


def first_line(module: Path) -> str:
    """First line of a module's docstring, without running it."""
    try:
        text = ast.get_docstring(ast.parse(module.read_text(encoding="utf-8"))) or ""
    except (SyntaxError, ValueError) as error:
        return f"does not parse: {error}"
    return text.partition("\n")[0] or "(says nothing about itself)"
