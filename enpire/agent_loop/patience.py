"""Asking again where that may help."""

from __future__ import annotations

import time
from collections.abc import Callable

from enpire.agent_loop.conversation import ModelError

WAITS_S = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0, *[60.0] * 14)  # a quarter of an hour in all
LONGEST_S = 300.0


class Broken(Exception):
    """The answer broke off, or there is none for now. after: seconds to wait, if it said so."""

    def __init__(self, why: str, after: float = 0.0) -> None:
        super().__init__(why)
        self.after = after


def patient[T](ask: Callable[[], T], sleep: Callable[[float], None] = time.sleep) -> T:
    """What it returns in the end; raises ModelError if it is Broken as often as there are waits."""
    for wait in WAITS_S:
        try:
            return ask()
        except Broken as broken:
            sleep(min(broken.after, LONGEST_S) or wait)
    try:
        return ask()
    except Broken as broken:
        raise ModelError(f"the model does not answer: {broken}") from broken
