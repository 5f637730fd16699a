"""`enpire bench learner`: gradient steps a second, beside a bare loop in torch."""

from __future__ import annotations

from argparse import Namespace

from enpire.cli.options.parser import Parser, print_json
from enpire.option_values import positive


def add_options(parser: Parser) -> None:
    """The options of `enpire bench learner`."""
    group = parser.add_argument_group("learner")
    group.add_argument(
        "--gradient-steps",
        type=positive,
        default=100,
        metavar="N",
        help="gradient steps in a turn (default 100)",
    )
    group.add_argument(
        "--compile",
        action="store_true",
        help="measure the bare loop through torch.compile too, which takes minutes to begin",
    )


def run(options: Namespace) -> int:
    """Measure and print."""
    import torch

    from benchmarks.learner import bench_learner
    from benchmarks.turns import table
    from enpire.observe.result import versions

    torch.set_num_threads(1)  # as who trains beside a fleet
    steps, blocks = options.gradient_steps, options.turns
    measured = bench_learner(steps, blocks, seed=options.seed, compiled=options.compile)
    print(
        f"{measured.steps} gradient steps a turn, {measured.blocks} turns of each side, "
        f"{measured.moments} moments in memory\n{table(measured.compared, measured.steps)}"
    )
    if options.json:
        print_json(measured.as_json() | {"versions": versions()})
    return 0
