"""`--menagerie DIR`: twins of MuJoCo Menagerie's models, where a robot pack knows their names."""

from __future__ import annotations

import os
from argparse import Namespace
from pathlib import Path

from enpire.commands.options import Parser
from enpire.errors import UsageError


def add_menagerie(parser: Parser) -> None:
    """The option that says where it is."""
    parser.add_argument(
        "--menagerie",
        type=Path,
        metavar="DIR",
        help="a checkout of MuJoCo Menagerie: its models in place of a pack's own, on twins",
    )


def use_menagerie(options: Namespace) -> None:
    """Tell this process and those that it starts; raises UsageError if it is no folder."""
    if options.menagerie is None:
        return
    if not options.menagerie.is_dir():
        raise UsageError(f"{options.menagerie} is no folder: --menagerie takes one")
    from enpire.packs.menagerie import VARIABLE

    os.environ[VARIABLE] = str(options.menagerie.resolve())
