"""`enpire bench start`: how long a command takes to begin."""

from __future__ import annotations

from argparse import Namespace

from enpire.cli.options.parser import print_json

TASK = "pick_cube"


def run(options: Namespace) -> int:
    """Measure and print."""
    from benchmarks.start import bench_start
    from benchmarks.turns import seconds
    from enpire.observe.result import versions

    began = bench_start(options.task or TASK, options.turns)
    print("| | processor | clock | bar | memory |\n|---|---|---|---|---|")
    for each in began:
        took = (
            f"{seconds(median)} [{seconds(least)}, {seconds(largest)}]"
            for median, least, largest in (each.processor_s, each.wall_s)
        )
        bar = seconds(each.bar_s) if each.bar_s else ""
        memory = f"{each.memory / 1e6:.0f} MB" if each.memory else ""
        print(f"| {each.work} | {' | '.join(took)} | {bar} | {memory} |")
    if options.json:
        print_json({"began": [each.as_json() for each in began], "versions": versions()})
    return 0
