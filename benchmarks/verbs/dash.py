"""`enpire bench dash`: what a loop pays for a dashboard that somebody has open."""

from __future__ import annotations

import sys
import tempfile
from argparse import Namespace
from pathlib import Path

from enpire.cli.options.parser import Parser, print_json
from enpire.option_values import positive

TASK = "pick_cube"


def add_options(parser: Parser) -> None:
    """Those of `dash` alone."""
    group = parser.add_argument_group("dash")
    group.add_argument(
        "--pairs",
        type=positive,
        default=8,
        metavar="N",
        help="pairs of loops, one watched and one not (default 8)",
    )
    group.add_argument(
        "--in-turn",
        action="store_true",
        help="run one loop after the other, so that time on the clock counts too: for a "
        "machine with nothing else to do",
    )


def run(options: Namespace) -> int:
    """Measure and print."""
    from benchmarks import watched as bench
    from benchmarks.browser import find_chromium

    find_chromium()
    with tempfile.TemporaryDirectory() as folder:
        pairs = bench.measure(
            Path(folder),
            options.pairs,
            options.task or TASK,
            options.seed,
            options.in_turn,
            tell=lambda line: print(line, file=sys.stderr),
        )
    print(bench.markdown(pairs, options.in_turn))
    if options.json:
        print_json(bench.as_json(pairs))
    return 0
