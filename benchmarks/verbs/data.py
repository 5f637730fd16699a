"""`enpire bench data`: samples a second with pictures, beside LeRobot's loader."""

from __future__ import annotations

import tempfile
from argparse import Namespace
from itertools import islice
from pathlib import Path

from enpire.cli.options.parser import Parser, print_json
from enpire.errors import UsageError
from enpire.option_values import positive


def add_options(parser: Parser) -> None:
    """The options of `enpire bench data`."""
    group = parser.add_argument_group("data")
    group.add_argument(
        "--run",
        type=Path,
        metavar="RUN",
        help="run with pictures to read (made with --images); needed",
    )
    group.add_argument(
        "--episodes-read",
        type=positive,
        default=40,
        metavar="N",
        help="successful episodes to read (default 40)",
    )
    group.add_argument(
        "--samples",
        type=positive,
        default=640,
        metavar="N",
        help="samples of an epoch (default 640)",
    )


def run(options: Namespace) -> int:
    """Measure and print."""
    if options.run is None:
        raise UsageError("bench data reads the pictures of a run: --run RUN")
    import torch

    from benchmarks.data import bench_data
    from enpire.observe.result import versions
    from enpire.store import Run

    torch.set_num_threads(1)  # as who trains beside a fleet
    with Run.open(options.run) as source:
        filmed = (e for e in source.episodes() if e.success and len(e.pictures))
        episodes = list(islice(filmed, options.episodes_read))
    with tempfile.TemporaryDirectory() as folder:
        measured = bench_data(episodes, Path(folder), options.samples, options.seed)
    cameras, size = measured.pictures[:2]
    print(
        f"{measured.samples} samples of {measured.episodes} episodes, {cameras} pictures of "
        f"{size} px each, batches of {measured.batch}, random order\n"
        f"ours {measured.ours:.0f} samples/s (open to first batch {measured.open_s:.2f} s)"
    )
    for name, rate in measured.lerobot.items():
        print(f"LeRobot, {name}: {rate:.0f} samples/s")
    for kept, seconds in measured.lerobot_open_s.items():
        print(f"LeRobot, {kept}: open to first batch {seconds:.2f} s")
    print(f"ours by LeRobot's fastest: {measured.ratio}")
    if options.json:
        print_json(measured.as_json() | {"versions": versions()})
    return 0
