"""Curves of a run for TensorBoard, always, and for a tracker that is asked for."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

from enpire.session.audience import Say, say_on_stderr

if TYPE_CHECKING:
    from enpire.store import Run

KINDS = ("wandb", "mlflow", "trackio")


@contextmanager
def tracked(run: Run, kind: str | None = None, say: Say = say_on_stderr) -> Iterator[None]:
    """Have a run's scalars written while the block records them.

    Args:
        run: open for writing.
        kind: of the tracker that is told too, beside TensorBoard's files.
        say: takes what went wrong, which ends nothing.
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
