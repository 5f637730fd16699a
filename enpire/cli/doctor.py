"""`enpire doctor`: what this machine can do, and how to mend what it cannot."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from enpire.cli.options.parser import Parser, print_json
from enpire.errors import UsageError
from enpire.session.graphics import choose_graphics
from enpire.session.progress_bar import progress_bar

if TYPE_CHECKING:
    from enpire.observe.machine import MachineCheck

DESCRIPTION = """\
Look at all that enpire may need here: graphics, GPU, ROS 2, cameras, serial ports, the sandbox,
the disk, real-time rights, the clock. Nothing moves and nothing is switched on. A note is about
what need not be there; it ends with 1 where something is bad."""


def add_options(parser: Parser) -> None:
    """The options of `enpire doctor`."""
    parser.add_argument(
        "folder",
        nargs="?",
        type=Path,
        default=Path("."),
        metavar="DIR",
        help="folder where runs will lie; its disk is measured (default: here)",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(options: Namespace) -> int:
    """Print a line a check, as it ends; returns the exit code."""
    from enpire.observe.machine import CheckState

    if not options.folder.is_dir():
        raise UsageError(f"there is no folder {options.folder}: name where runs are to lie")
    choose_graphics()
    checks = []

    def tell(check: MachineCheck) -> None:
        checks.append(check)
        if options.json:
            return
        print(f"{check.state:<5} {check.name}: {check.found}", flush=True)
        if check.remedy:
            print(f"      {check.remedy}", flush=True)

    with progress_bar("looking at this machine"):
        for check in _checks(options.folder):
            tell(check)
    for check in _timing():  # without a bar, whose drawing would be measured too
        tell(check)
    if options.json:
        print_json({"checks": [asdict(check) for check in checks]})
    return int(any(check.state is CheckState.BAD for check in checks))


def _checks(folder: Path) -> Iterator[MachineCheck]:
    from enpire.observe.machine import CheckState, MachineCheck, disk, graphics, robots
    from enpire.sandbox.sandbox import available

    yield graphics.opengl()
    yield graphics.gpu()
    yield from robots.middleware()
    yield robots.cameras()
    yield robots.serial_ports()
    confined = available()
    yield MachineCheck(
        "sandbox",
        CheckState.GOOD if confined.works else CheckState.NOTE,
        "agents' programs are confined"
        if confined.works
        else "agents' programs cannot be confined",
        confined.reason,
    )
    yield from disk.disk(folder)


def _timing() -> Iterator[MachineCheck]:
    from enpire.observe.machine import timing

    yield timing.real_time()
    yield timing.pace()
    yield timing.clock()
