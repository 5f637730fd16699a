"""`enpire bench statistics`: what the numbers that decide are worth."""

from __future__ import annotations

from argparse import Namespace
from dataclasses import asdict

from enpire.cli.options.parser import Parser, print_json
from enpire.option_values import positive


def add_options(parser: Parser) -> None:
    """The options of `enpire bench statistics`, and of `enpire bench selection`."""
    group = parser.add_argument_group("statistics, selection")
    group.add_argument(
        "--runs",
        type=positive,
        default=10_000,
        metavar="N",
        help="comparisons to simulate, or searches for selection (default 10000)",
    )
    group.add_argument(
        "--loops",
        type=positive,
        default=100,
        metavar="N",
        help="whole loops to simulate for each true success rate (default 100)",
    )


def run(options: Namespace) -> int:
    """Measure and print."""
    from benchmarks import statistics as bench
    from benchmarks.loop_simulation import loop_chance
    from enpire.rollout.loop.settings import LoopSettings

    settings = LoopSettings.of(task="simulated")
    loops = [loop_chance(settings, rate, options.loops, options.seed) for rate in bench.LOOP_RATES]
    found = bench.report(options.runs, loops, options.seed)
    print(bench.markdown(found))
    if options.json:
        print_json(asdict(found))
    return 0
