"""`enpire campaign audit RUN`: whether a campaign's records agree with each other."""

from __future__ import annotations

from argparse import Namespace
from dataclasses import asdict
from pathlib import Path

from enpire.cli.options.parser import Parser, print_json
from enpire.session.progress_bar import progress_bar

DESCRIPTION = """\
Hold a campaign's episodes, policies, decisions, sealed evaluations, history and report against
each other. It prints a line for each check, and ends with 1 where one does not hold. Nothing is
changed."""

SHOWN = 8  # of what does not agree, a check


def add_options(parser: Parser) -> None:
    """The options of `enpire campaign audit`."""
    parser.add_argument("run", type=Path, metavar="RUN", help="folder of the campaign to audit")
    parser.add_argument(
        "--head",
        metavar="HEAD",
        help="head at the end of its report, as noted earlier: says whether anything was "
        "changed since",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(options: Namespace) -> int:
    """Print a line a check; returns the exit code."""
    from enpire.evolution.audit import audit
    from enpire.store import Run
    from enpire.store.head import parse

    noted = parse(options.head) if options.head else None
    with Run.open(options.run, damaged=True) as opened, progress_bar("checking the records"):
        checks = audit(opened, noted)
    holds = all(check.holds for check in checks)
    if options.json:
        print_json({"holds": holds, "checks": [asdict(check) for check in checks]})
        return 0 if holds else 1
    for check in checks:
        print(f"{'holds' if check.holds else 'FAILS'}  {check.name}: {check.said}")
        for line in check.wrong[:SHOWN]:
            print(f"         {line}")
        if len(check.wrong) > SHOWN:
            print(f"         and {len(check.wrong) - SHOWN} more")
    return 0 if holds else 1
