"""`enpire robots`: the robots that can be found, a line each."""

from __future__ import annotations

from argparse import Namespace

from enpire.cli.options.parser import Parser

DESCRIPTION = "List the robots that can be found, a line each."


def add_options(parser: Parser) -> None:
    """None but --help."""


def run(options: Namespace) -> int:
    """Print the list; a robot whose pack does not parse is listed with what is wrong."""
    from enpire.errors import PackError
    from enpire.packs import available, find, load_robot

    names = available("robots")
    width = max(map(len, names), default=0)
    for name in names:
        try:
            line = load_robot(find("robots", name)).description
        except PackError as error:
            line = f"does not load: {error}"
        print(f"{name:<{width}}  {line}")
    if not names:
        print("no robot found: make ./robots/<name>/robot.toml")
    return 0
