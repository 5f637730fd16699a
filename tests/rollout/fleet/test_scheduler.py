"""A free station takes the work that is furthest behind its share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from enpire.environment import Job
from enpire.rollout.fleet.fleet import LOST_ON
from enpire.rollout.fleet.scheduler import Scheduler
from enpire.types import Purpose
from tests.environment.reach import Speed


def jobs(name: str, count: int = 1000) -> list[Job]:
    controller = Speed()
    return [Job(seed, Purpose.COLLECTION, controller, name) for seed in range(count)]


def ran(scheduler: Scheduler, episodes: int, seconds: dict[str, float]) -> Counter[str]:
    """Episodes by policy, one station, with so many seconds an episode of each."""
    counts: Counter[str] = Counter()
    for _ in range(episodes):
        drawn = scheduler.next()
        assert drawn is not None
        counts[drawn.job.policy] += 1
        assert not scheduler.end_job(drawn, seconds[drawn.job.policy])
    return counts


def test_robot_time_goes_by_share() -> None:
    scheduler = Scheduler()
    scheduler.add(jobs("a"), 3.0)
    scheduler.add(jobs("b"), 1.0)
    counts = ran(scheduler, 400, {"a": 10.0, "b": 10.0})
    assert abs(counts["a"] - 300) <= 1


def test_share_is_of_time_and_not_of_episodes() -> None:
    scheduler = Scheduler()
    scheduler.add(jobs("long"), 1.0)
    scheduler.add(jobs("short"), 1.0)
    counts = ran(scheduler, 400, {"long": 30.0, "short": 10.0})
    assert abs(counts["short"] - 300) <= 1


def test_without_a_share_only_what_would_be_idle() -> None:
    scheduler = Scheduler()
    scheduler.add(jobs("fills"), 0.0)
    scheduler.add(jobs("first", 5), 1.0)
    counts = ran(scheduler, 8, {"fills": 1.0, "first": 100.0})
    assert counts == {"first": 5, "fills": 3}


def test_who_comes_late_has_no_claim_to_what_was_before() -> None:
    scheduler = Scheduler()
    scheduler.add(jobs("early"))
    ran(scheduler, 100, {"early": 10.0})
    scheduler.add(jobs("late"))
    counts = ran(scheduler, 20, {"early": 10.0, "late": 10.0})
    assert counts == {"early": 10, "late": 10}


def test_nothing_is_due_yet() -> None:
    due: list[Job] = []

    def later() -> Iterator[Job | None]:
        while True:
            yield due.pop() if due else None

    scheduler = Scheduler()
    queue = scheduler.add(later())
    assert scheduler.next() is None
    assert not queue.over
    due += jobs("now", 1)
    drawn = scheduler.next()
    assert drawn is not None
    assert drawn.job.policy == "now"


def test_a_job_whose_station_is_lost_comes_first_and_not_for_ever() -> None:
    scheduler = Scheduler()
    queue = scheduler.add(jobs("a", 2))
    drawn = scheduler.next()
    assert drawn is not None
    for lost in range(1, LOST_ON):
        assert scheduler.end_job(drawn, 1.0, LOST_ON), lost
        again = scheduler.next()
        assert again is not None
        assert again.job is drawn.job
        drawn = again
    assert not scheduler.end_job(drawn, 1.0, LOST_ON), "then it is the job's own fault"
    last = scheduler.next()
    assert last is not None
    assert last.job.seed == 1
    assert scheduler.next() is None
    scheduler.end_job(last, 1.0)
    assert queue.over
