"""Faults that a simulated station is made to have, and tells: what a harness must survive.

Messages are delayed, dropped or come in another order; the tracker or the cameras freeze; joints
are said to be where they are not; the process is killed. Each is told once it begins, with a number
that grows over all starts of the station, and the injector knows nothing of who hears it.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from enpire.drivers import Reading
from enpire.drivers.wire import Fault, Objects
from enpire.errors import UsageError
from enpire.packs.finder import unknown

LONGEST_S = {"delay": 1.0, "drop": 1.0, "reorder": 1.0, "freeze": 2.0, "lie": 0.5, "kill": 0.0}
KINDS = tuple(LONGEST_S)
DELAY_S = (0.02, 0.15)
DROPPED = (0.3, 1.0)  # share of messages
LIE = (0.05, 0.4)  # of one joint [rad]


class Channel[T]:
    """Messages of one kind on their way, in the order in which they will be there."""

    def __init__(self, rng: np.random.Generator) -> None:
        """Pass all on in time and whole, until told otherwise."""
        self._rng = rng
        self._way: list[tuple[int, T]] = []
        self.delay = 0  # ns
        self.dropped = 0.0
        self.spread = 0  # ns, by which the later may come first
        self.frozen = False

    def put(self, now: int, message: T) -> None:
        """A message sets out."""
        if self.frozen or (self.dropped and self._rng.random() < self.dropped):
            return
        due = now + self.delay
        if self.spread:
            due += int(self._rng.integers(self.spread))
        self._way.append((due, message))

    def due(self, now: int) -> list[T]:
        """Messages that are there by now."""
        if not self._way:
            return []
        self._way.sort(key=lambda one: one[0])
        there = [message for due, message in self._way if due <= now]
        self._way = self._way[len(there) :]
        return there

    def well(self) -> None:
        """Be as it should be from now on."""
        self.delay = self.spread = 0
        self.dropped, self.frozen = 0.0, False


@dataclass(frozen=True, slots=True)
class Plan:
    """Mean seconds between two faults of each kind."""

    every: dict[str, float] = field(default_factory=dict)

    @classmethod
    def read(cls, spec: str) -> Plan:
        """`delay:30,kill:300`, `all:60` for each kind, or `none`; raises UsageError."""
        every: dict[str, float] = {}
        for part in filter(None, spec.split(",") if spec != "none" else ()):
            kind, _, said = part.partition(":")
            if kind not in (*KINDS, "all"):
                raise UsageError(unknown("fault", kind, [*KINDS, "all"]))
            try:
                seconds = float(said)
            except ValueError:
                seconds = -1.0
            if not seconds > 0.0:
                raise UsageError(f"--faults {part}: give seconds between two, {kind}:60")
            every |= dict.fromkeys(KINDS if kind == "all" else (kind,), seconds)
        return cls(every)


def _kill() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


class Faults:
    """The channels of a station's wire, and when they fail."""

    def __init__(
        self,
        plan: Plan,
        seed: int,
        now: int,
        first: int = 1,
        tell: Callable[[Fault], None] = lambda fault: None,
        kill: Callable[[], None] = _kill,
    ) -> None:
        """now: monotonic ns. first: number of the first fault. tell: is given each as it begins,
        and returns once others can hear of it."""
        self._plan, self._tell, self._kill = plan, tell, kill
        self._rng = np.random.default_rng((seed, first))
        self.readings = Channel[Reading](self._rng)
        self.commands = Channel[Any](self._rng)  # as their wire has them
        self.objects = Channel[Objects](self._rng)
        self.pictures = Channel[Any](self._rng)  # likewise
        self.told: list[Fault] = []
        self._next = {kind: now + self._after(kind) for kind in plan.every}
        self._ends: dict[str, int] = {}
        self._number = first
        self._lie: tuple[int, float] | None = None

    def tick(self, now: int) -> None:
        """Begin and end faults that are due."""
        for kind, end in list(self._ends.items()):
            if end <= now:
                del self._ends[kind]
        if not self._ends:
            self._well()
        for kind, at in self._next.items():
            if at <= now and not self._ends:
                self._next[kind] = now + self._after(kind)
                self._begin(kind, now)

    def lied(self, reading: Reading) -> Reading:
        """The reading, or what is made of it."""
        if self._lie is None:
            return reading
        position = reading.position.copy()
        position[self._lie[0] % len(position)] += self._lie[1]
        return replace(reading, position=position)

    def _begin(self, kind: str, now: int) -> None:
        seconds = LONGEST_S[kind] * self._rng.uniform(0.2, 1.0)
        channels: dict[str, Channel[Any]] = {
            "joint states": self.readings,
            "setpoints": self.commands,
            "tracker": self.objects,
        }
        names = list(channels)
        name = names[int(self._rng.integers(len(names)))]
        channel = channels[name]
        if kind == "delay":
            delay = self._rng.uniform(*DELAY_S)
            text = f"{name} {delay * 1e3:.0f} ms late"
        elif kind == "drop":
            share = self._rng.uniform(*DROPPED)
            text = f"{share:.0%} of {name} dropped"
        elif kind == "reorder":
            spread = self._rng.uniform(*DELAY_S)
            text = f"{name} out of order within {spread * 1e3:.0f} ms"
        elif kind == "freeze":
            text = "tracker and cameras frozen"
        elif kind == "lie":
            offset = self._rng.uniform(*LIE) * self._rng.choice([-1, 1])
            joint = int(self._rng.integers(5))
            text = f"joint {joint + 1} said to be {np.degrees(offset):+.0f} deg off"
        else:
            text = "process killed"
        fault = Fault(self._number, kind, text, now, seconds)
        self._number += 1
        self.told.append(fault)
        self._tell(fault)
        self._ends[kind] = now + round(seconds * 1e9)
        if kind == "delay":
            channel.delay = round(delay * 1e9)
        elif kind == "drop":
            channel.dropped = share
        elif kind == "reorder":
            channel.spread = round(spread * 1e9)
        elif kind == "freeze":
            self.objects.frozen = self.pictures.frozen = True
        elif kind == "lie":
            self._lie = (joint, offset)
        else:
            self._kill()

    def _well(self) -> None:
        self._lie = None
        for channel in (self.readings, self.commands, self.objects, self.pictures):
            channel.well()

    def _after(self, kind: str) -> int:
        return round(self._rng.exponential(self._plan.every[kind]) * 1e9)
