"""Carries the scalars of a run that is under way to a tracker, from a thread of its own.

A run never waits for a tracker and is never ended by one: what a tracker raises is said once, and
the run goes on without it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Self

from enpire.observe.tracking.scalars import Scalar, ScalarReader, Tracker
from enpire.store import Run

LOOK_S = 20.0  # between looks at what is new
CLOSE_S = 30.0  # that a tracker may take for what is left when a run has ended

Say = Callable[[str], None]


class TrackingThread:
    """Tells one tracker what is new in a run; a `with` block around all that the run records."""

    def __init__(
        self,
        run: Run,
        kind: str,
        begin: Callable[[], Tracker],
        say: Say = print,
        look_s: float = LOOK_S,
        close_s: float = CLOSE_S,
    ) -> None:
        """Begin nothing yet.

        Args:
            run: that is told of.
            kind: of tracker, for a person.
            begin: makes the tracker, in the thread.
            say: tells a person why a tracker is told nothing more.
            look_s: seconds between looks.
            close_s: seconds that the end of the block waits for the tracker.
        """
        self._run, self._kind, self._begin, self._say = run, kind, begin, say
        self._look_s, self._close_s = look_s, close_s
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._follow, name=f"track-{kind}", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join(self._close_s)
        if self._thread.is_alive():
            self._say(f"{self._kind}: gave up after {self._close_s:g} s; the run itself is whole")

    def _follow(self) -> None:
        try:
            self._track()
        except Exception as error:  # whatever a tracker does, the run goes on
            cause = f"{type(error).__name__}: {error}"
            self._say(f"{self._kind}: no more curves are written ({cause}); the run goes on")

    def _track(self) -> None:
        tracker = self._begin()
        try:
            reader, known = ScalarReader(self._run), tracker.known_keys()
            while True:
                over = self._over.wait(self._look_s)
                new: list[Scalar] = [s for s in reader.read(over) if s.key not in known]
                if new:
                    tracker.log(new)
                if over:
                    return
        finally:
            tracker.close()
