"""Questions that several threads ask at once: answered together, each its own way."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor

import pytest

from enpire.policies.remote.waiting import Waiting


class Doubling:
    """Doubles numbers; the first time only once it is let go. Of negative ones it wants none."""

    def __init__(self) -> None:
        self.asked: list[list[int]] = []
        self.begun, self.go = threading.Event(), threading.Event()

    def __call__(self, numbers: Sequence[int]) -> list[int]:
        self.asked.append(list(numbers))
        self.begun.set()
        assert self.go.wait(60)
        if min(numbers) < 0:
            raise ValueError(f"{min(numbers)} is negative")
        return [2 * number for number in numbers]


def asked_during(
    first: int, others: Sequence[int], most: int
) -> tuple[Doubling, list[Future[int]]]:
    """Answers to the others, all of whom ask, in their order, while the first one is answered."""
    doubling = Doubling()
    waiting = Waiting(doubling, most)
    with ThreadPoolExecutor(1 + len(others)) as threads:
        answers = [threads.submit(waiting.answer, first)]
        assert doubling.begun.wait(60)
        for count, number in enumerate(others, 1):
            answers.append(threads.submit(waiting.answer, number))
            while len(waiting._waiting) < count:
                threading.Event().wait(0.001)
        doubling.go.set()
    return doubling, answers


def test_who_asks_meanwhile_is_answered_together() -> None:
    doubling, answers = asked_during(1, [2, 3, 4], most=8)
    assert [answer.result() for answer in answers] == [2, 4, 6, 8]
    assert doubling.asked == [[1], [2, 3, 4]]


def test_the_oldest_come_first_and_no_more_than_so_many() -> None:
    doubling, answers = asked_during(1, [2, 3, 4, 5, 6], most=2)
    assert [answer.result() for answer in answers] == [2, 4, 6, 8, 10, 12]
    assert doubling.asked == [[1], [2, 3], [4, 5], [6]]


def test_what_cannot_be_answered_harms_nobody_else() -> None:
    doubling, answers = asked_during(1, [2, -3, 4], most=8)
    assert [answers[i].result() for i in (0, 1, 3)] == [2, 4, 8]
    with pytest.raises(ValueError, match="-3 is negative"):
        answers[2].result()
    assert doubling.asked == [[1], [2, -3, 4], [2], [-3], [4]]


def test_a_wrong_number_of_answers_is_no_hang() -> None:
    waiting = Waiting[int, int](lambda numbers: [], 4)
    with pytest.raises(RuntimeError, match="0 answers to 1"):
        waiting.answer(1)
