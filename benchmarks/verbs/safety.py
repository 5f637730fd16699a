"""`enpire bench safety`: the bars of the supervisor, with a mock arm, on this machine."""

from __future__ import annotations

import sys
import tempfile
from argparse import Namespace
from pathlib import Path

from enpire.cli.options.parser import Parser, print_json
from enpire.option_values import natural, positive

TRIALS = 143  # of each of seven faults: a thousand in all
SECONDS = 20.0  # of undisturbed motion


def add_options(parser: Parser) -> None:
    """Those of `safety` alone."""
    group = parser.add_argument_group("safety")
    group.add_argument(
        "--trials",
        type=positive,
        default=TRIALS,
        metavar="N",
        help=f"trials of each fault (default {TRIALS})",
    )
    group.add_argument(
        "--priority",
        type=natural,
        default=0,
        metavar="P",
        help="real-time priority of the supervisor, SCHED_FIFO 1 to 99 (default none)",
    )
    group.add_argument(
        "--wire",
        choices=("ros2",),
        help="measure instead how much later setpoints arrive in ROS 2 than a bare publisher's",
    )


def run(options: Namespace) -> int:
    """Measure and print."""
    from benchmarks import safety as bench

    wish = f"priority = {options.priority}" if options.priority else ""
    if options.wire:
        return _wire(options, wish)
    with tempfile.TemporaryDirectory() as folder:
        station = bench.station(Path(folder), wish)
        measured = bench.measure(
            station,
            options.trials,
            seconds=SECONDS,
            seed=options.seed,
            tell=lambda line: print(line, file=sys.stderr),
        )
    print(measured.markdown())
    if options.json:
        print_json(measured.as_json())
    return 0


def _wire(options: Namespace, wish: str) -> int:
    from benchmarks import wire

    with tempfile.TemporaryDirectory() as folder:
        measured = wire.measure(Path(folder), SECONDS, wish)
    print(measured.markdown())
    if options.json:
        print_json(measured.as_json())
    return 0
