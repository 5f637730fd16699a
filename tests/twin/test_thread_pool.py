"""A pool of threads: calls are carried out once, in order, by whoever is free."""

from __future__ import annotations

import threading

from enpire.twin.thread_pool import ThreadPool


def test_without_threads_only_who_helps_works() -> None:
    pool, done = ThreadPool(1), list[int]()
    for i in range(3):
        pool.put(lambda i=i: done.append(i))  # type: ignore[misc]
    assert pool.wanted
    assert done == []
    while pool.help():
        pass
    assert done == [0, 1, 2]
    assert not pool.wanted


def test_threads_work_beside_who_put_the_call() -> None:
    pool, met = ThreadPool(2), threading.Event()
    pool.put(met.set)
    assert met.wait(60.0)


def test_threads_end_with_their_crew() -> None:
    before = set(threading.enumerate())
    pool = ThreadPool(3)
    mine = set(threading.enumerate()) - before
    assert len(mine) == 2
    del pool
    for thread in mine:
        thread.join(timeout=10)
        assert not thread.is_alive()
