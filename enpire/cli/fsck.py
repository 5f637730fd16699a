"""`enpire fsck RUN`: whether all of a run is as it was recorded."""

from __future__ import annotations

import sys
from argparse import Namespace
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from enpire.cli.options.parser import Parser, print_json
from enpire.session.progress_bar import progress_bar

if TYPE_CHECKING:
    from enpire.store.fsck import Damage

DESCRIPTION = """\
Hold every file, hash, row, policy, promotion and sealed evaluation of a run against each other.
It prints a line for each damage: the file, what is wrong, what to do. It ends with 1 if there is
any."""


def add_options(parser: Parser) -> None:
    """The options of `enpire fsck`."""
    parser.add_argument("run", type=Path, metavar="RUN", help="folder of the run to check")
    parser.add_argument(
        "--repair",
        action="store_true",
        help="make lost rows again from the batches; move what nothing explains to lost/",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(options: Namespace) -> int:
    """Print a line a damage; returns the exit code."""
    from enpire.observe.tracking.check import damaged_events
    from enpire.store.fsck import check
    from enpire.store.repair import repair

    with progress_bar("repairing"):
        done = repair(options.run) if options.repair else []
    for line in done:
        print(line, file=sys.stderr if options.json else sys.stdout)
    with progress_bar("checking all files"):
        findings = check(options.run)
        damage = findings.damage + _concluded(options.run) + list(damaged_events(options.run))
    if options.json:
        print_json(
            {
                "run": str(options.run),
                "damage": [asdict(each) for each in damage],
                "notes": findings.notes,
                "intact": {"episodes": findings.episodes, "policies": findings.policies},
                "repaired": done,
            }
        )
        return 1 if damage else 0
    for each in damage:
        print(str(each).replace(" RUN ", f" {options.run} "))
    for note in findings.notes:
        print(f"note: {note}")
    intact = f"{findings.episodes} episodes and {findings.policies} policies are intact"
    print(f"{options.run}: {len(damage)} damaged, {intact}")
    return 1 if damage else 0


def _concluded(folder: Path) -> list[Damage]:
    """What the ledger concludes, where it can be read at all."""
    from enpire.errors import StoreError
    from enpire.evolution.audit.conclusions import conclusions
    from enpire.store import Run

    try:
        with Run.open(folder, damaged=True) as opened:
            return conclusions(opened)
    except StoreError:
        return []  # `check` has told
