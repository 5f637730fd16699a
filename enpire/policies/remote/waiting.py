"""Questions of many threads, answered several at a time by whichever of them is free to."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass


@dataclass(slots=True, eq=False)
class _Question[Q, A]:
    """answer: a list of one when it is there. error: instead of an answer."""

    asked: Q
    answer: list[A]
    error: BaseException | None = None


class Waiting[Q, A]:
    """Whoever finds nobody answering answers all that wait, the oldest first, its own among them.

    Nobody waits for others to ask: a question that comes alone is answered alone and at once, and
    those that come meanwhile are answered together, as soon as that is done.
    """

    def __init__(self, answer: Callable[[Sequence[Q]], Sequence[A]], most: int) -> None:
        """answer: some questions, in their order; called by one thread at a time. most: of them."""
        self._answer, self._most = answer, most
        self._waiting: deque[_Question[Q, A]] = deque()
        self._answering = threading.Lock()

    def answer(self, asked: Q) -> A:
        """What the answer to a question is; raises what answering it alone raises."""
        question: _Question[Q, A] = _Question(asked, [])
        self._waiting.append(question)
        with self._answering:
            while not question.answer and question.error is None:
                count = min(len(self._waiting), self._most)
                self._answer_all([self._waiting.popleft() for _ in range(count)])
        if question.error is not None:
            raise question.error
        return question.answer[0]

    def _answer_all(self, questions: Sequence[_Question[Q, A]]) -> None:
        try:
            answers = self._answer([question.asked for question in questions])
            if len(answers) != len(questions):
                raise RuntimeError(f"{len(answers)} answers to {len(questions)} questions")
        except BaseException as error:
            if len(questions) == 1 or not isinstance(error, Exception):
                for question in questions:
                    question.error = error
                return
            for question in questions:  # whose fault it is shows when each is asked alone
                self._answer_all([question])
            return
        for question, answer in zip(questions, answers, strict=True):
            question.answer.append(answer)
