"""Options on the view of a scene, and on the size of its picture."""

from __future__ import annotations

from enpire.cli.options.parser import Parser
from enpire.option_values import any_number, distance, positive


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
