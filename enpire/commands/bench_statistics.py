"""`enpire bench statistics`: what the numbers that decide are worth."""

from __future__ import annotations

from argparse import Namespace
from dataclasses import asdict

from enpire.commands.options import Parser, positive, print_json


def add_options(parser: Parser) -> None:
    """The options of `enpire bench statistics`, and of `enpire bench selection`."""
    group = parser.add_argument_group("statistics, selection")
    group.add_argument(
        "--runs", type=positive, default=10_000, metavar="N", help="simulated, default 10000"
    )


def run(options: Namespace) -> int:
    """Measure and print."""
    from enpire.observe import statistics_bench as bench

    alike = list(bench.false_promotions(options.runs, options.seed))
    effects, intervals = list(bench.savings()), list(bench.coverages())
    print(bench.markdown(alike, effects, intervals))
    if options.json:
        print_json(
            {
                "alike": [asdict(row) for row in alike],
                "effects": [asdict(row) for row in effects],
                "intervals": [asdict(row) for row in intervals],
            }
        )
    return 0
