"""`enpire bench fleet`: how much sooner more stations are done."""

from __future__ import annotations

import subprocess
import sys
from argparse import ArgumentTypeError, Namespace
from dataclasses import asdict
from pathlib import Path

from enpire.child_environment import child_environment
from enpire.cli.options.parser import Parser, print_json
from enpire.errors import EnpireError, UsageError
from enpire.option_values import positive
from enpire.session.loop_settings import flag

REACHED, NOT_REACHED = 0, 3  # exit codes of a loop that has ended by itself
EPISODES = {"start_episodes": 60, "collect": 100, "sealed_episodes": 100}
"""Of each loop: as few as there may be, since one station takes an hour as it is."""


def add_options(parser: Parser) -> None:
    """The options of `enpire bench fleet`."""
    group = parser.add_argument_group("fleet")
    group.add_argument(
        "--stations",
        metavar="A,B",
        default="1,2,4,8",
        help="numbers of stations to compare (default 1,2,4,8)",
    )
    group.add_argument(
        "--runs-in",
        type=Path,
        metavar="DIR",
        default=Path("runs/fleet"),
        help="folder of all runs (default runs/fleet)",
    )


def run(options: Namespace) -> int:
    """Run the loops that are missing, all at once as none is in another's way; print the table."""
    from benchmarks import fleet as bench
    from enpire.packs import find

    task = find("tasks", options.task).name
    try:
        sizes = [positive(text) for text in options.stations.split(",")]
    except ArgumentTypeError:
        raise UsageError(f"--stations {options.stations}: numbers, such as 1,2,4,8") from None
    folders = {size: options.runs_in / task / str(size) for size in sizes}
    under_way = {size: _loop(task, size, folder, options) for size, folder in folders.items()}
    try:
        for size, loop in under_way.items():
            if loop.wait() not in (REACHED, NOT_REACHED):
                raise EnpireError(f"the loop of {size} stations failed: see {_log(folders[size])}")
    finally:
        for loop in under_way.values():
            loop.terminate()
        for loop in under_way.values():
            loop.wait()
    fleets = [bench.read(folder) for folder in folders.values()]
    print(bench.markdown(fleets))
    if options.json:
        print_json({"fleets": [asdict(fleet) for fleet in fleets]})
    return 0


def _log(folder: Path) -> Path:
    return folder.with_suffix(".log")


def _loop(task: str, size: int, folder: Path, options: Namespace) -> subprocess.Popen[bytes]:
    """Begin a loop, or go on with it."""
    if (folder / "config.toml").is_file():
        words = ["--resume", str(folder)]
    else:
        words = ["--task", task, "--robots", str(size), "--seed", str(options.seed)]
        words += ["--pace", "real", "--run", str(folder)]
        for name, count in EPISODES.items():
            words += [flag(name), str(count)]
    folder.parent.mkdir(parents=True, exist_ok=True)
    with _log(folder).open("ab") as log:
        command = [sys.executable, "-m", "enpire.cli", "loop", *words]
        return subprocess.Popen(
            command, stdout=log, stderr=subprocess.STDOUT, env=child_environment()
        )
