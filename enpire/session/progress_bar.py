"""Progress of a verb on a terminal: a bar on stderr that is gone once it is done.

Where stderr is no terminal nothing is drawn, and what a verb prints stays as it is.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager


@contextmanager
def progress_bar(doing: str, total: int | None = None) -> Iterator[Callable[[], None]]:
    """Show how far something is; yields what is called after each part of it.

    Args:
        doing: what is done, for a person.
        total: parts in all; None where nobody knows, which shows the time alone.
    """
    if not sys.stderr.isatty():
        yield lambda: None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        SpinnerColumn,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    known = (BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()) if total else ()
    columns = (SpinnerColumn(), TextColumn("{task.description}"), *known, TimeElapsedColumn())
    # What is printed meanwhile goes above the bar; of a pipe it stays what it is.
    both = sys.stdout.isatty()
    with Progress(
        *columns, console=Console(stderr=True), transient=True, redirect_stdout=both
    ) as progress:
        task = progress.add_task(doing, total=total)
        yield lambda: progress.advance(task)


def counted[T](parts: Iterable[T], doing: str, total: int | None = None) -> Iterator[T]:
    """Yield parts, and show how many have been dealt with.

    Args:
        parts: of what is done.
        doing: what is done, for a person.
        total: how many they are; of a sequence it is known.
    """
    if total is None and isinstance(parts, Sequence):
        total = len(parts)
    with progress_bar(doing, total) as advance:
        for part in parts:
            yield part
            advance()
