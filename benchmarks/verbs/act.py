"""`enpire bench act`: what an answer of our policies takes, beside torch's bare forward pass."""

from __future__ import annotations

from argparse import Namespace

from enpire.cli.options.parser import Parser, print_json
from enpire.option_values import positive


def add_options(parser: Parser) -> None:
    """The options of `enpire bench act`."""
    parser.add_argument_group("act").add_argument(
        "--answers",
        type=positive,
        default=200,
        metavar="N",
        help="answers to time in a turn (default 200)",
    )


def run(options: Namespace) -> int:
    """Measure and print."""
    import torch

    from benchmarks.act import bench_act
    from benchmarks.turns import seconds, table
    from enpire.observe.result import versions

    torch.set_num_threads(1)  # as beside a fleet
    measured = bench_act(options.answers, options.turns, options.seed)
    print(f"{measured.calls} answers a turn, {measured.blocks} turns of each side")
    print(table(measured.compared, measured.calls))
    for work, period_s in measured.period_s.items():
        print(f"a period of all of it, {work}: {seconds(period_s)} of processor")
    if options.json:
        print_json(measured.as_json() | {"versions": versions()})
    return 0
