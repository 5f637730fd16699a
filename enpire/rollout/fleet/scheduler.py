"""Which work a free station takes its next episode from.

Work comes in queues: a comparison, a collection, an agent's trials. Each has a share, and the queue
that is furthest behind its share of robot time is next: stride scheduling (Waldspurger and Weihl,
"Stride scheduling: deterministic proportional-share resource management", 1995), with robot time
as it turned out for the stride. So none starves, however long the episodes of the others are. A
queue without a share takes what would otherwise be idle.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from enpire.environment import Job


@dataclass(slots=True, eq=False)
class Queue:
    """Jobs of one piece of work, drawn one at a time; `None` among them: none is due yet."""

    jobs: Iterator[Job | None]
    share: float = 1.0  # of robot time, beside the shares of the others; 0.0 takes what they leave
    passed: float = 0.0  # robot time that it had, by its share [s]
    under_way: int = 0  # jobs on stations
    # Jobs that lost their station, with how many they lost; they come first.
    handed_back: deque[tuple[Job, int]] = field(default_factory=deque)
    drawn: bool = False

    @property
    def over(self) -> bool:
        """Whether every job has had its episode."""
        return self.drawn and not self.under_way and not self.handed_back

    def draw(self) -> tuple[Job, int] | None:
        """The next job and how many stations it has lost, or None where none is due."""
        if self.handed_back:
            return self.handed_back.popleft()
        if self.drawn:
            return None
        try:
            job = next(self.jobs)
        except StopIteration:
            self.drawn = True
            return None
        return None if job is None else (job, 0)


@dataclass(slots=True)
class ScheduledJob:
    """A job, the queue that it is of, and how many stations were lost under it."""

    job: Job
    queue: Queue
    lost: int


class Scheduler:
    """The queues of a fleet."""

    def __init__(self) -> None:
        """None yet."""
        self._queues: list[Queue] = []

    def add(self, jobs: Iterable[Job | None], share: float = 1.0) -> Queue:
        """A new queue; it has no claim to robot time of before it came."""
        sharing = [queue.passed for queue in self._queues if queue.share]
        queue = Queue(iter(jobs), share, min(sharing, default=0.0))
        self._queues.append(queue)
        return queue

    def remove(self, queue: Queue) -> None:
        """Draw no more from a queue."""
        if queue in self._queues:
            self._queues.remove(queue)

    def next(self) -> ScheduledJob | None:
        """The next job: of the queue that is furthest behind and has one due."""
        for queue in sorted(self._queues, key=lambda each: (not each.share, each.passed)):
            found = queue.draw()
            if found is not None:
                queue.under_way += 1
                return ScheduledJob(found[0], queue, found[1])
        return None

    def end_job(self, drawn: ScheduledJob, robot_s: float, tries: int = 1) -> bool:
        """A job's episode has ended, which took `robot_s`; returns whether it is handed back.

        tries: how often in all it may be run, since this time it came to nothing for no fault of
        its own; 1: it has had its episode.
        """
        queue = drawn.queue
        queue.under_way -= 1
        queue.passed += robot_s / (queue.share or 1.0)
        again = drawn.lost + 1 < tries
        if again:
            queue.handed_back.append((drawn.job, drawn.lost + 1))
        return again

    def give_back(self, drawn: ScheduledJob) -> None:
        """A job that was drawn and not begun."""
        drawn.queue.under_way -= 1
        drawn.queue.handed_back.appendleft((drawn.job, drawn.lost))
