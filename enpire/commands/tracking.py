"""Curves of a run for TensorBoard, always, and for a tracker that is asked for."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

from enpire.commands.options import Parser

if TYPE_CHECKING:
    from enpire.store import Run

KINDS = ("wandb", "mlflow", "trackio")


def add_tracking(parser: Parser) -> None:
    """The option that asks for a tracker, for `require_tracking`."""
    parser.add_argument(
        "--track",
        choices=KINDS,
        help="send curves there too (docs/trackers.md); TensorBoard's files are always written",
    )


def require_tracking(options: Namespace) -> None:
    """Raise UsageError if the library of the tracker that is asked for is not installed."""
    if options.track is not None:
        from enpire.observe.tracking.choice import require_tracker

        require_tracker(options.track)


@contextmanager
def tracked(run: Run, kind: str | None = None) -> Iterator[None]:
    """Have a run's scalars written while the block records them.

    Args:
        run: open for writing.
        kind: of the tracker that is told too, beside TensorBoard's files.
    """
    from enpire.observe.tracking.choice import tracker
    from enpire.observe.tracking.events import EventFiles
    from enpire.observe.tracking.identity import tracked_run
    from enpire.observe.tracking.thread import TrackingThread

    with ExitStack() as stack:
        events = TrackingThread(run, "TensorBoard", lambda: EventFiles(run.folder), say)
        stack.enter_context(events)
        if kind:
            begin = tracker(kind, tracked_run(run))
            stack.enter_context(TrackingThread(run, kind, begin, say))
        yield


def say(text: str) -> None:
    """Tell a person something that is no result."""
    print(text, file=sys.stderr, flush=True)
