"""`enpire copy RUN DIR`: a run once more, also one that is under way."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path

from enpire.cli.options.parser import Parser
from enpire.session.progress_bar import progress_bar

DESCRIPTION = """\
Copy a run as it is now, also one that a process writes to: what it recorded before the copy began
is in it. The copy is checked as enpire fsck does; it ends with 1 where there is damage."""


def add_options(parser: Parser) -> None:
    """The options of `enpire copy`."""
    parser.add_argument("run", type=Path, metavar="RUN", help="folder of the run to copy")
    parser.add_argument(
        "target", type=Path, metavar="DIR", help="folder of the copy; a new or an empty one"
    )


def run(options: Namespace) -> int:
    """Copy and check; returns the exit code."""
    from enpire.store.copying import copy_run
    from enpire.store.fsck import check

    with progress_bar("copying"):
        copy_run(options.run, options.target)
    with progress_bar("checking the copy"):
        findings = check(options.target)
    for each in findings.damage:
        print(str(each).replace(" RUN ", f" {options.target} "))
    intact = f"{findings.episodes} episodes and {findings.policies} policies are intact"
    print(f"{options.target}: {len(findings.damage)} damaged, {intact}")
    return 1 if findings.damage else 0
