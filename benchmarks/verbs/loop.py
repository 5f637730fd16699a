"""`enpire bench loop`: what a loop spends its processor time on."""

from __future__ import annotations

import tempfile
from argparse import Namespace
from pathlib import Path

from enpire.cli.options.parser import Parser, print_json
from enpire.option_values import duration

TASK = "pick_cube"


def add_options(parser: Parser) -> None:
    """Those of `loop` alone."""
    group = parser.add_argument_group("loop")
    group.add_argument(
        "--whole",
        type=duration,
        metavar="TIME",
        help="run a loop with its usual settings for this time on the clock, not a short one"
        " that is nearly all episodes",
    )


def run(options: Namespace) -> int:
    """Measure and print."""
    from benchmarks.loop_shares import bench_loop, table
    from enpire.observe.result import versions

    whole = {"target": 1.0, "max_time": options.whole} if options.whole else {}
    with tempfile.TemporaryDirectory() as folder:
        measured = bench_loop(
            options.task or TASK,
            Path(folder),
            options.robots,
            options.turns,
            options.seed,
            options.images,
            **whole,
        )
    print(table(measured))
    if options.json:
        print_json(measured.as_json() | {"versions": versions()})
    return 0
