"""A crew: calls are carried out once, in order, by whoever is free."""

from __future__ import annotations

import threading

from enpire.twin.crew import Crew


def test_without_threads_only_who_helps_works() -> None:
    crew, done = Crew(1), list[int]()
    for i in range(3):
        crew.put(lambda i=i: done.append(i))  # type: ignore[misc]
    assert crew.wanted
    assert done == []
    while crew.help():
        pass
    assert done == [0, 1, 2]
    assert not crew.wanted


def test_threads_work_beside_who_put_the_call() -> None:
    crew, met = Crew(2), threading.Event()
    crew.put(met.set)
    assert met.wait(10.0)


def test_threads_end_with_their_crew() -> None:
    before = set(threading.enumerate())
    crew = Crew(3)
    mine = set(threading.enumerate()) - before
    assert len(mine) == 2
    del crew
    for thread in mine:
        thread.join(timeout=10)
        assert not thread.is_alive()
