"""`--menagerie`: twins of MuJoCo Menagerie's models, where a robot pack knows their names."""

from __future__ import annotations

import os
from argparse import Namespace
from importlib.util import find_spec
from pathlib import Path

from enpire.cli.options.parser import Parser
from enpire.errors import UsageError


def add_menagerie(parser: Parser) -> None:
    """The option that says where it is."""
    parser.add_argument(
        "--menagerie",
        metavar="DIR",
        help="take the twins' models from this checkout of MuJoCo Menagerie, not from the "
        "packs; package: from what mujoco-menagerie downloads at first use (extra: "
        "menagerie)",
    )


def use_menagerie(options: Namespace) -> None:
    """Tell this process and those that it starts; raises UsageError if it is no folder."""
    if options.menagerie is None:
        return
    from enpire.packs.menagerie import PACKAGE, VARIABLE

    if options.menagerie == PACKAGE:
        if find_spec("mujoco_menagerie") is None:
            raise UsageError(
                f"--menagerie {PACKAGE} needs its library: pip install 'enpire[menagerie]'"
            )
        os.environ[VARIABLE] = PACKAGE
        return
    folder = Path(options.menagerie)
    if not folder.is_dir():
        raise UsageError(f"{folder} is no folder: --menagerie takes one, or the word {PACKAGE}")
    os.environ[VARIABLE] = str(folder.resolve())
