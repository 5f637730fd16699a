"""`enpire bench stations`: what an episode costs as stations become many."""

from __future__ import annotations

import tempfile
from argparse import Namespace
from pathlib import Path

from enpire.cli.options.parser import print_json

TASK = "pick_cube"


def run(options: Namespace) -> int:
    """Measure and print."""
    from benchmarks.station_counts import bench_station_counts, table
    from enpire.observe.result import versions
    from enpire.session.threads import leave_cores_to_physics

    leave_cores_to_physics()
    with tempfile.TemporaryDirectory() as folder:
        measured = bench_station_counts(
            options.task or TASK, Path(folder), blocks=options.turns, seed=options.seed
        )
    print(f"{measured.episodes} episodes a turn\n{table(measured)}")
    if options.json:
        print_json(measured.as_json() | {"versions": versions()})
    return 0
