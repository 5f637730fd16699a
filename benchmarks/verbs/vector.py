"""`enpire bench vector`: stations of a task beside Gymnasium's vector environments."""

from __future__ import annotations

from argparse import Namespace

from enpire.cli.options.parser import print_json

TASK = "pick_cube"


def run(options: Namespace) -> int:
    """Measure and print."""
    from benchmarks.turns import table
    from benchmarks.vector import bench_vector
    from enpire.observe.result import versions
    from enpire.session.threads import leave_cores_to_physics

    leave_cores_to_physics()
    measured = bench_vector(
        options.task or TASK, options.robots, options.turns, options.seed, options.images
    )
    print(
        f"{measured.periods} control periods a turn at each of {measured.stations} stations, on "
        f"{measured.threads} threads; {measured.blocks} turns of each side\n"
        f"{table([measured.compared])}"
    )
    if options.json:
        print_json(measured.as_json() | {"versions": versions()})
    return 0
