"""`enpire render`: a picture of a task's twin."""

from __future__ import annotations

import os
import sys
from argparse import Namespace
from pathlib import Path

from enpire.cli.options.menagerie import add_menagerie, use_menagerie
from enpire.cli.options.parser import Parser, add_start, task_asked
from enpire.cli.options.view import add_view, view_of
from enpire.errors import StoreError, UsageError
from enpire.option_values import any_number, seed_number
from enpire.session.progress_bar import progress_bar

DESCRIPTION = """\
Draw a picture of a task's twin in the middle of a demonstration, without a display (EGL). The view
is of what the task tracks, or from a camera of the world."""


def add_options(parser: Parser) -> None:
    """The options of `enpire render`."""
    parser.add_argument("task", metavar="TASK", help="task to draw: its name or its folder")
    add_start(parser)
    add_menagerie(parser)
    parser.add_argument("picture", type=Path, metavar="FILE.png", help="picture to write")
    parser.add_argument(
        "--seed",
        type=seed_number,
        default=0,
        metavar="N",
        help="seed of the initial condition (default 0)",
    )
    parser.add_argument(
        "--at",
        type=any_number,
        default=1.5,
        metavar="S",
        help="time in the demonstration [s]; 0: its beginning, -1: the start of the reset "
        "(default 1.5)",
    )
    parser.add_argument(
        "--camera",
        default="",
        metavar="NAME",
        help="camera of the world to look through (default: a view of what is tracked)",
    )
    add_view(parser, 0.7, 1280, 800)


def run(options: Namespace) -> int:
    """Write the picture."""
    if options.picture.suffix.lower() != ".png":
        raise UsageError(f"{options.picture} is no PNG file: give a name that ends in .png")
    use_menagerie(options)
    os.environ.setdefault("MUJOCO_GL", "egl")  # before MuJoCo is imported for the first time
    import cv2

    try:
        import mujoco  # noqa: F401
    except RuntimeError as error:
        raise UsageError(f"MuJoCo does not start ({error}): set MUJOCO_GL=egl") from error
    from enpire.environment import build_stations
    from enpire.observe.picture import draw, go_to

    with progress_bar("going there, and drawing"):
        stations = build_stations(task_asked(options), 1)
        reached = go_to(stations, options.seed, options.at)
        drawn = draw(stations, view_of(options))
    _, png = cv2.imencode(".png", drawn[..., ::-1])  # OpenCV takes blue first
    try:
        options.picture.parent.mkdir(parents=True, exist_ok=True)
        options.picture.write_bytes(png.tobytes())
    except OSError as error:
        raise StoreError(f"{options.picture} cannot be written: {error.strerror}") from error
    if reached + stations.period < options.at:
        print(f"--at {options.at:g}: the demonstration ends after {reached:g} s", file=sys.stderr)
    print(options.picture)
    return 0
