"""Control periods of many stations on a few threads: policy steps, then physics steps.

A thread that finds a physics step waiting carries it out. One that finds none runs a policy step
for all stations that are done by then, in one call, which queues their next physics steps. So the
policy step is called seldom, for many stations at a time, while other threads step physics. After a
millisecond of physics the processor's caches no longer hold its code. To call it anew for every
station costs several times what it computes.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from functools import partial

from enpire.twin.thread_pool import ThreadPool

PolicyStep = Callable[[list[int]], list[int]]
"""Senses and decides for stations whose physics step is done; returns those that step again."""

PhysicsStep = Callable[[int, int], int]
"""Steps a station over a period, and on over so many at most; returns over how many."""


class StepScheduler:
    """Steps stations from one control period to the next.

    One thread runs a policy step at a time, so what it calls need not know of threads. A station
    takes part from a tick that names it until it is `left`.
    """

    def __init__(
        self,
        pool: ThreadPool,
        policy_step: PolicyStep,
        advance: PhysicsStep,
        goes_on: Callable[[int], bool],
    ) -> None:
        """Step physics on `pool`; only a station that `goes_on` may run ahead of the ticks."""
        self._pool = pool
        self._policy_step, self._advance, self._goes_on = policy_step, advance, goes_on
        self._deciding = threading.Lock()
        self._change = threading.Condition(threading.Lock())
        self._ticks = self._ahead = 0
        self._begun: dict[int, int] = {}  # the last tick whose period a station has begun
        self._at_work: set[int] = (
            set()
        )  # stations from their policy step until their physics is done
        self._held: set[int] = set()  # stations that wait for something else than physics
        self._postponed: set[int] = set()  # those of them whose period has not begun
        self._error: BaseException | None = None
        self._broken: BaseException | None = None  # of this class itself: nothing can go on

    def tick(self, rows: Iterable[int], ahead: int) -> None:
        """Have `rows`, and those that take part, begin their next period, unless they have.

        Meanwhile, and after it, they may begin up to `ahead` more. What a policy step raises is
        raised here.
        """
        with self._change:
            for row in rows:
                self._begun.setdefault(row, self._ticks)
            self._ticks += 1
            self._ahead = ahead
        self._wait_until(lambda: min(self._begun.values(), default=self._ticks) >= self._ticks)
        if self._error is not None:
            error, self._error = self._error, None
            raise error

    def early(self, row: int) -> bool:
        """Whether a station has run ahead of the ticks, or is about to: it is thought for."""
        return row in self._at_work or self._begun.get(row, 0) > self._ticks

    def leave(self, row: int) -> None:
        """A station takes part no longer."""
        with self._change:
            self._begun.pop(row, None)
            self._held.discard(row)

    def hold(self, row: int) -> None:
        """Begin no period of a station until it is `release`d; others may run ahead meanwhile."""
        with self._change:
            self._held.add(row)

    def postpone(self, row: int) -> None:
        """As `hold`, by who is thinking for it; the station is thought for again in this period."""
        with self._change:
            self._held.add(row)
            self._postponed.add(row)

    def release(self, row: int) -> None:
        """What a station was held for has come; from any thread."""
        with self._change:
            self._held.discard(row)
            self._change.notify_all()

    def wait(self) -> None:
        """Until the physics of all is done, and begin nothing more."""
        with self._change:
            self._ahead = 0
        self._wait_until(lambda: not self._at_work)

    def _wait_until(self, reached: Callable[[], bool]) -> None:
        """Work with the pool until something is reached."""
        pool = self._pool

        def over() -> bool:
            return self._broken is not None or reached()

        while not over():
            if not pool.help() and not self._go_on():
                with self._change:
                    self._change.wait_for(lambda: over() or pool.wanted or self._due())
        if self._broken is not None:
            raise self._broken

    def _due(self) -> list[int]:
        """Stations that may begin a period now."""
        ahead = 0 if self._error else self._ahead
        return [
            row
            for row, begun in self._begun.items()
            if row not in self._at_work
            and row not in self._held
            and begun < self._ticks + (ahead if self._goes_on(row) else 0)
        ]

    def _go_on(self) -> bool:
        """Run a policy step for those that are due; False if none is, or a physics step waits."""
        pool = self._pool
        if pool.wanted:
            return False
        with self._deciding:
            with self._change:
                due = [] if pool.wanted else self._due()
                self._at_work.update(due)
            if not due:
                return False
            going_on: list[int] = []
            try:
                going_on = self._policy_step(due)
            except BaseException as error:  # for `tick` to raise, on the thread that called it
                self._error = error
            with self._change:
                for row in due:
                    if row not in self._postponed:
                        self._begun[row] += 1
                self._postponed.clear()
                self._at_work.difference_update(set(due) - set(going_on))
                for row in going_on:
                    pool.put(partial(self._advance_task, row))
                self._change.notify_all()
        return True

    def _advance_task(self, row: int) -> None:
        periods = 1
        try:
            periods = self._advance(row, 1 + max(self._ticks + self._ahead - self._begun[row], 0))
        except BaseException as error:
            self._error = error
        with self._change:
            self._begun[row] += periods - 1
            self._at_work.discard(row)
            self._change.notify_all()
        try:
            self._go_on()
        except BaseException as error:  # or else this thread dies of it, and all wait for ever
            with self._change:
                self._broken = error
                self._change.notify_all()
