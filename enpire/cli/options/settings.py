"""A loop's settings as options."""

from __future__ import annotations

from argparse import _ActionsContainer
from collections.abc import Callable
from typing import Any

from enpire.option_values import (
    natural,
    nobody_or_hands,
    number_or_auto,
    positive,
    seed_number,
)
from enpire.session.loop_settings import SETTINGS, flag

COUNTS = (positive, natural, seed_number, number_or_auto)  # what reads a number of something


def add_setting(
    parser: _ActionsContainer,
    name: str,
    known: dict[str, tuple[Callable[[str], Any], str, str]] = SETTINGS,
) -> None:
    """Add a setting's option, None where it is not given; known: as `SETTINGS`."""
    read, default, line = known[name]
    if read is bool:
        parser.add_argument(flag(name), action="store_const", const=True, help=line)
        return
    metavar = "NAME" if read in (str, nobody_or_hands) else "N" if read in COUNTS else "X"
    line += f" (default {default})" if default else ""
    parser.add_argument(flag(name), type=read, metavar=metavar, help=line)
