"""Options of a verb that records a run, for long: where, what a program and a tracker are told."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path

from enpire.cli.options.parser import Parser
from enpire.session.tracking import KINDS


def add_recording(parser: Parser) -> None:
    """`--run`, `--json` and `--track`, for `require_tracking`."""
    parser.add_argument(
        "--run",
        metavar="DIR",
        type=Path,
        help="folder of the new run (default: a new one in runs/)",
    )
    parser.add_argument(
        "--json",
        action="store_true",
        help="print events as lines of JSON on stdout, the result last; all else goes to stderr",
    )
    parser.add_argument(
        "--track",
        choices=KINDS,
        help="send curves to this tracker too (docs/trackers.md); TensorBoard's files are "
        "always written",
    )


def require_tracking(options: Namespace) -> None:
    """Raise UsageError if the library of the tracker that is asked for is not installed."""
    if options.track is not None:
        from enpire.observe.tracking.choice import require_tracker

        require_tracker(options.track)
