"""The option that asks for a tracker of a run's curves."""

from __future__ import annotations

from argparse import Namespace

from enpire.cli.options.parser import Parser
from enpire.session.tracking import KINDS


def add_tracking(parser: Parser) -> None:
    """The option that asks for a tracker, for `require_tracking`."""
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
