"""`enpire list`: the runs of a folder."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path

from enpire.cli.options.parser import Parser, print_json
from enpire.session.progress_bar import counted

DESCRIPTION = "List the runs in a folder: task, state, success of the best policy, robot-hours."


def add_options(parser: Parser) -> None:
    """The options of `enpire list`."""
    parser.add_argument(
        "folder",
        nargs="?",
        type=Path,
        default=Path("runs"),
        metavar="DIR",
        help="folder of the runs (default runs)",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(options: Namespace) -> int:
    """Print a row for each run; one that cannot be read is listed with what is wrong."""
    from rich.console import Console
    from rich.table import Table

    from enpire.errors import EnpireError, UsageError
    from enpire.observe.overview import overview
    from enpire.store import Run, is_run

    if not options.folder.is_dir():
        raise UsageError(f"there is no folder {options.folder}: start a run, or name another")
    rows, broken = [], []
    folders = sorted(path for path in options.folder.iterdir() if is_run(path))
    for folder in counted(folders, "runs"):
        try:
            with Run.open(folder) as opened:
                rows.append(overview(opened))
        except EnpireError as error:
            broken.append({"run": str(folder), "error": str(error)})
        except (ArithmeticError, LookupError, TypeError, ValueError) as error:
            what = f"what it recorded cannot be followed ({error!r}): enpire fsck says more"
            broken.append({"run": str(folder), "error": what})
    if options.json:
        print_json({"runs": [row.as_json() for row in rows], "unreadable": broken})
        return 0
    table = Table("run", "task", "seed", "state", "success", "rounds", "robot-hours", box=None)
    for row in rows:
        hours = f"{row.robot_s / 3600:.2f}"
        success = f"{row.success}{' sealed' if row.sealed else ''}"
        cells = (row.task, str(row.seed), row.state, success, str(row.rounds), hours)
        table.add_row(row.folder.name, *cells)
    console = Console(highlight=False, markup=False)
    if not console.is_terminal:
        console.width = 200  # a reader by lines wants a run a line
    console.print(table if rows else f"no run in {options.folder}", soft_wrap=True)
    for one in broken:
        console.print(f"{one['run']}: {one['error']}", soft_wrap=True)
    return 0
