"""Options on the view of a scene, and on the size of its picture."""

from __future__ import annotations

from argparse import Namespace
from dataclasses import fields
from typing import TYPE_CHECKING

from enpire.cli.options.parser import Parser
from enpire.option_values import any_number, distance, positive

if TYPE_CHECKING:
    from enpire.observe.picture import Viewpoint


def add_view(parser: Parser, far: float, width: int, height: int) -> None:
    """`--distance`, `--azimuth`, `--elevation`, `--width`, `--height`, with these defaults."""
    for name, read, unit, default, what in (
        ("distance", distance, "M", far, "distance of the view from what is tracked [m]"),
        ("azimuth", any_number, "DEG", 162.0, "azimuth of the view [degrees]"),
        ("elevation", any_number, "DEG", -20.0, "elevation of the view [degrees]"),
        ("width", positive, "N", width, "width of the picture [px]"),
        ("height", positive, "N", height, "height of the picture [px]"),
    ):
        line = f"{what} (default {default:g})"
        parser.add_argument(f"--{name}", type=read, default=default, metavar=unit, help=line)


def view_of(options: Namespace) -> Viewpoint:
    """The view that these options ask for, and `--camera` and `--lift` where a verb has them."""
    from enpire.observe.picture import Viewpoint

    given = vars(options)
    names = [each.name for each in fields(Viewpoint) if each.name in given]
    return Viewpoint(**{name: given[name] for name in names})
