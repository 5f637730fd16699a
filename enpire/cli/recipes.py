"""`enpire recipes`: what improves a policy, a line each, or one of them with its settings."""

from __future__ import annotations

import inspect
import sys
from argparse import Namespace
from pathlib import Path

from enpire.cli.options.parser import Parser
from enpire.cli.tasks import first_line
from enpire.errors import UsageError
from enpire.packs.finder import unknown
from enpire.session.progress_bar import progress_bar

DESCRIPTION = """\
List the recipes that improve a policy, a line each. `enpire recipes show NAME` says what one does
and which settings it has; NAME may be a file of your own, ./mine.py."""

ACTIONS = ["show"]


def add_options(parser: Parser) -> None:
    """The options of `enpire recipes`."""
    parser.add_argument(
        "action", nargs="?", metavar="show", help="show one recipe instead of listing all"
    )
    parser.add_argument(
        "recipe", nargs="?", metavar="NAME", help="recipe to show: its name or its file"
    )


def run(options: Namespace) -> int:
    """Print the list, or one."""
    if options.action is None:
        folder = Path(__file__).resolve().parent.parent / "improvement" / "recipes"
        files = sorted(path for path in folder.glob("*.py") if path.stem != "__init__")
        width = max(len(path.stem) for path in files)
        for path in files:
            print(f"{path.stem:<{width}}  {first_line(path)}")
        return 0
    if options.action not in ACTIONS:
        raise UsageError(unknown("action", options.action, ACTIONS))
    if options.recipe is None:
        raise UsageError("enpire recipes show NAME: which one?")
    with progress_bar("reading it"):
        from enpire.improvement import recipe_finding as recipes
        from enpire.improvement.settings import described

        found = recipes.find(options.recipe)
        settings = described(found.recipe)
    module = sys.modules[type(found.recipe).__module__]
    print(f"{found.name}: {inspect.getdoc(module) or type(found.recipe).__name__}\n")
    print(settings)
    return 0
