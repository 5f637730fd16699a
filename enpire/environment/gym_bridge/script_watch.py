"""What is told of a person's own script: its signs in words, and that it is slow."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from enpire.environment.gym_bridge.gym_worker.script_signs import VARIES, WHOLE, ScriptSigns
from enpire.types import Float32Array

SLOW_S, TIMES = 1.0, 5  # of an answer, and how many of them in a row are told
MEANS = {
    VARIES: "it answers the observation that its first episode began with otherwise in a later "
    "one: does it keep something from one episode to the next, or draw without a seed? Keep that "
    "in what begin returns",
    WHOLE: "its actions are whole numbers, where they go from lowest to highest in fractions: "
    "rounded, or cut off by their type?",
}


class ScriptWatch:
    """Looks at what a script answers, and says of each sign what it may mean."""

    def __init__(
        self, tell: Callable[[str], None], clock: Callable[[], float] = time.monotonic
    ) -> None:
        """tell: takes a clause for a person, and says it once. clock: of seconds."""
        self._tell, self._clock = tell, clock
        self._signs = ScriptSigns(fractions=True)
        self._slow, self._began = 0, 0.0

    def begins(self, begun: Callable[[], Any]) -> None:
        """See `ScriptSigns.begins`."""
        self._signs.begins(begun)
        self._tell_signs()

    def asked(self) -> None:
        """It is about to be asked for actions."""
        self._began = self._clock()

    def answered(self, seen: Float32Array, said: list[Any]) -> None:
        """It has shown these actions (act,), as it gave them, for observations (m, obs)."""
        took = (self._clock() - self._began) / len(said)
        self._slow = self._slow + 1 if took >= SLOW_S else 0
        if self._slow == TIMES:
            self._tell(
                f"each of its actions takes {took:.2g} s: on a twin time stands still meanwhile, "
                "and an arm would not wait"
            )
        for observation, action in zip(seen, said, strict=True):
            self._signs.answered(observation, action)
        self._tell_signs()

    def _tell_signs(self) -> None:
        for sign in self._signs.found:
            self._tell(MEANS[sign])
