"""`enpire task check NAME`: certify a task; `enpire task sign NAME`: answer for it."""

from __future__ import annotations

import sys
import time
from argparse import Namespace
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from enpire.cli.options.parser import Parser, add_start, print_json, task_asked
from enpire.errors import EnpireError, PackError, UsageError
from enpire.option_values import positive
from enpire.packs.finder import AT_JOINTS, AT_START, sets_joints, unknown
from enpire.session.graphics import choose_graphics

if TYPE_CHECKING:
    from enpire.certification.examination import Counts, TaskExamination
    from enpire.certification.row import CheckRow

DESCRIPTION = """\
check: say whether a task can be done, cannot be had for nothing, is judged rightly, keeps the
robot's limits and repeats. It prints a table with counts and intervals, and ends with 1 if a bar is
missed. --full takes the counts that a certificate needs and keeps it beside the pack.
sign: a person answers for a certified pack as it is; one that an agent drafted needs it before an
arm. It asks at the terminal, or takes --by with the exact --hash."""

ACTIONS = ["check", "sign"]
NAMES = [
    "demonstrator",
    "limits",
    "nothing",
    "random",
    "reset",
    "physical",
    "repeat",
    "verifier",
    "fakes",
    "cameras",
]
MISSED = 1


def add_options(parser: Parser) -> None:
    """The options of `enpire task`."""
    parser.add_argument("action", metavar="check|sign", help="what to do with the task")
    parser.add_argument(
        "task", metavar="TASK", help="task to check or sign: its name or its folder"
    )
    add_start(parser)
    parser.add_argument(
        "--full",
        action="store_true",
        help="run as many episodes as a certificate needs, and keep it beside the pack",
    )
    parser.add_argument(
        "--checks",
        metavar="A,B",
        help=f"run only these of {', '.join(NAMES)} (keeps no certificate)",
    )
    parser.add_argument(
        "--seeds",
        type=positive,
        metavar="N",
        help="episodes to run of each kind (keeps no certificate)",
    )
    parser.add_argument("--json", action="store_true", help="print the result last, as JSON")
    parser.add_argument(
        "--by", metavar="NAME", help="sign: name of who signs, where nobody is at a terminal"
    )
    parser.add_argument("--hash", metavar="SHA256", help="sign: hash of the pack, needed with --by")


def run(options: Namespace) -> int:
    """Examine the task and print the table."""
    if options.action not in ACTIONS:
        raise UsageError(unknown("action", options.action, ACTIONS))
    if options.action == "sign":
        from enpire.cli.helpers.pack_signing import sign

        return sign(options, task_asked(options))
    names = options.checks.split(",") if options.checks is not None else NAMES
    for name in names:
        if name not in NAMES:
            raise UsageError(unknown("check", name, NAMES))
    choose_graphics()
    from enpire.certification import certificate
    from enpire.certification.examination import FULL, REDUCED, Counts, TaskExamination
    from enpire.environment import Stations, build_stations
    from enpire.observe.result import versions
    from enpire.packs import find
    from enpire.session.threads import SWITCH_S

    sys.setswitchinterval(SWITCH_S)
    task = task_asked(options)
    if sets_joints(task):
        raise UsageError(f"a check is of scene and verifier, not of actions: leave {AT_JOINTS} out")
    pack = find("tasks", task)
    folder = pack.folder
    counts = FULL if options.full else REDUCED
    if options.seeds is not None:
        counts = Counts.all(options.seeds)

    def build(stations: int, threads: int) -> Stations:
        return build_stations(task, stations, threads)

    began = time.monotonic()
    with blamed_on(folder):
        examination = TaskExamination(build, counts)
        rows = _show(pack.name, examination, counts, names)
        whole = options.full and options.seeds is None and set(names) == set(NAMES)
        whole = whole and not task.endswith(AT_START)  # a certificate is the pack's usual task's
        matrices = examination.matrices if whole else None
    packs = examination.stations.packs
    missed = [row for row in rows if row.passed is False]
    kept = None
    if matrices is not None:
        kept = certificate.write(folder, packs, rows, matrices, versions())
        said = "not certified, a bar is missed" if missed else "certified"
        print(f"{said}: kept in {kept}" if kept else f"not kept: {folder} cannot be written to")
    if options.json:
        print_json(
            {
                "task": pack.name,
                "passed": not missed,
                "full": options.full,
                "checks": [row.as_json() for row in rows],
                "certificate": str(kept) if kept else None,
                "verifier": {name: asdict(m) for name, m in (matrices or {}).items()},
                "wall_s": time.monotonic() - began,
                "versions": versions(),
                "packs": packs,
            }
        )
    return MISSED if missed else 0


@contextmanager
def blamed_on(folder: Path) -> Iterator[None]:
    """An exception that a pack's own code raised becomes a PackError with file and line."""
    from enpire.environment.core.faults import where

    try:
        yield
    except EnpireError:
        raise
    except Exception as error:
        place = where(error, folder)
        if ":" not in place.removeprefix(str(folder)):  # none of its lines was under way
            raise
        raise PackError(f"{place}: {type(error).__name__}: {error}") from error


def _show(
    task: str, examination: TaskExamination, counts: Counts, names: list[str]
) -> list[CheckRow]:
    """Lines as they come, or a table on a terminal."""
    from rich.console import Console
    from rich.table import Table

    console = Console(highlight=False, markup=False)
    rows: list[CheckRow] = []
    if not console.is_terminal:
        for row in examination.rows(names):
            rows.append(row)
            print(
                f"{row.mark:<4}  {row.check}: {row.measured} {row.counted}; bar: {row.bar}", end=""
            )
            print(f"; {row.detail}" if row.detail else "", flush=True)
        return rows
    with console.status(f"{task}: {names[0]}") as status:
        for i, name in enumerate(names):
            status.update(f"{task}: {name} ({i + 1} of {len(names)})")
            rows += examination.rows([name])
    table = Table("check", "measured", "what", "bar", "", "detail", title=task)
    for row in rows:
        table.add_row(row.check, row.measured, row.counted, row.bar, row.mark, row.detail)
    console.print(table)
    return rows
