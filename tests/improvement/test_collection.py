"""Jobs of a round that have to wait for what is learned hold nobody up."""

from __future__ import annotations

import threading
from collections.abc import Iterator

from enpire.environment import Job
from enpire.improvement.collection import first, meanwhile
from enpire.types import Purpose
from tests.environment.reach import Speed


def jobs(count: int) -> list[Job]:
    return [Job(seed, Purpose.COLLECTION, Speed(1.0), "p", 1) for seed in range(count)]


def test_none_is_due_until_what_they_wait_for_is_learned() -> None:
    learned = threading.Event()
    some = jobs(2)

    def learn() -> str:
        assert learned.wait(60)
        return "estimate"

    came: list[str] = []

    def collect() -> Iterator[Job | None]:
        came.append((yield from meanwhile(some, learn)))

    asked = collect()
    assert [next(asked) for _ in range(4)] == [*some, None, None]
    learned.set()
    assert not any(asked)
    assert came == ["estimate"]


def test_the_first_few_are_counted_without_where_none_is_due() -> None:
    one, two, three = jobs(3)
    asked: Iterator[Job | None] = iter([None, one, None, two, None, three])
    assert list(first(asked, 2)) == [None, one, None, two]
    assert list(asked) == [None, three]
    assert list(first(iter([one]), 2)) == [one]
    assert list(first(iter([one]), 0)) == []
