"""`enpire bench store`: how fast episodes are written and read back, beside copies and LeRobot."""

from __future__ import annotations

import tempfile
from argparse import Namespace
from pathlib import Path

from enpire.cli.options.parser import Parser, print_json
from enpire.option_values import natural, positive


def add_options(parser: Parser) -> None:
    """The options of `enpire bench store`."""
    group = parser.add_argument_group("store")
    group.add_argument(
        "--written",
        type=positive,
        default=32,
        metavar="N",
        help="episodes to write in a turn (default 32)",
    )
    group.add_argument(
        "--picture-size",
        type=natural,
        default=0,
        metavar="PX",
        help="width and height of the pictures of two cameras [px]; 0: no pictures; others "
        "leave LeRobot out (default 0)",
    )
    group.add_argument(
        "--no-lerobot",
        action="store_true",
        help="leave out LeRobot, which takes by far the longest",
    )
    group.add_argument(
        "--disk",
        type=Path,
        metavar="FOLDER",
        help="folder on the disk to measure (default: where temporary files are)",
    )


def run(options: Namespace) -> int:
    """Measure and print."""
    import torch

    from benchmarks.store import bench_store
    from benchmarks.turns import table
    from enpire.observe.result import versions

    torch.set_num_threads(1)  # as who trains beside a fleet
    with tempfile.TemporaryDirectory(dir=options.disk) as folder:
        measured = bench_store(
            Path(folder),
            options.written,
            options.turns,
            options.picture_size,
            options.seed,
            not options.no_lerobot,
        )
    print(
        f"{measured.episodes} episodes, {measured.periods} periods, {measured.bytes / 1e6:.1f} MB; "
        f"{measured.blocks} turns of each side\n"
        f"{table(measured.compared)}"
    )
    if options.json:
        print_json(measured.as_json() | {"versions": versions()})
    return 0
