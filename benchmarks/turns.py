"""Sides of a comparison that take turns, so that what else the machine does meets all alike."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

OURS = "ours"

Side = Callable[[], object]
"""Does the work of one turn."""

Clock = Callable[[], float]
"""Tells a time so far [s]."""


@dataclass(frozen=True, slots=True)
class Turns:
    """What the turns of one side took [s]: on the clock, and of processors."""

    wall: tuple[float, ...]
    processor: tuple[float, ...]

    @property
    def wall_s(self) -> float:
        """The median turn on the clock [s]."""
        return statistics.median(self.wall)

    @property
    def processor_s(self) -> float:
        """The median turn in processor time [s]."""
        return statistics.median(self.processor)


@dataclass(frozen=True, slots=True)
class TurnRatio:
    """How many times as much one side took as another: median over turns, least and largest."""

    median: float
    least: float
    largest: float

    @classmethod
    def of(cls, over: Sequence[float], under: Sequence[float]) -> TurnRatio:
        """Compare the turns of two sides that took turns."""
        each = [one / other for one, other in zip(over, under, strict=True)]
        return cls(statistics.median(each), min(each), max(each))

    def __str__(self) -> str:
        return f"{self.median:.2f} [{self.least:.2f}, {self.largest:.2f}]"


@dataclass(frozen=True, slots=True)
class Comparison:
    """What is done in a turn, and how ours compares with every other side, by their names.

    turns: of each side. faster: how many times as fast ours is on the clock; leaner: how many times
    as much processor time the other takes.
    """

    work: str
    turns: dict[str, Turns]
    faster: dict[str, TurnRatio]
    leaner: dict[str, TurnRatio]


def compare(
    work: str,
    sides: Mapping[str, Side],
    blocks: int,
    warm: int = 1,
    processor: Clock = time.process_time,
) -> Comparison:
    """Let sides take turns; the one called `ours` is compared with each of the others."""
    turns = take_turns(sides, blocks, warm, processor)
    ours = turns[OURS]
    others = {name: each for name, each in turns.items() if name != OURS}
    return Comparison(
        work,
        turns,
        {name: TurnRatio.of(each.wall, ours.wall) for name, each in others.items()},
        {name: TurnRatio.of(each.processor, ours.processor) for name, each in others.items()},
    )


def table(compared: Sequence[Comparison], each: float = 1.0) -> str:
    """Return a table for a person; each: pieces of work that a turn does, of which one is told."""
    lines = [
        "| work | side | clock | processor | ours is so many times as fast | by processor time |",
        "|---|---|---|---|---|---|",
    ]
    for one in compared:
        for name, turns in one.turns.items():
            ratios = f"{one.faster[name]} | {one.leaner[name]}" if name != OURS else " | "
            took = f"{seconds(turns.wall_s / each)} | {seconds(turns.processor_s / each)}"
            lines.append(f"| {one.work} | {name} | {took} | {ratios} |")
    return "\n".join(lines)


def seconds(value: float) -> str:
    """A duration with a unit that fits."""
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if value >= size:
            return f"{value / size:.3g} {unit}"
    return f"{value / 1e-6:.3g} us"


def take_turns(
    sides: Mapping[str, Side],
    blocks: int,
    warm: int = 1,
    processor: Clock = time.process_time,
) -> dict[str, Turns]:
    """Let each side do its work `blocks` times, after `warm` times that do not count.

    Every other block has them in the opposite order. processor: tells the processor time so far.
    """
    for side in sides.values():
        for _ in range(warm):
            side()
    wall: dict[str, list[float]] = {name: [] for name in sides}
    used: dict[str, list[float]] = {name: [] for name in sides}
    names = list(sides)
    for block in range(blocks):
        for name in names if block % 2 == 0 else reversed(names):
            before, began = processor(), time.perf_counter()
            sides[name]()
            wall[name].append(time.perf_counter() - began)
            used[name].append(processor() - before)
    return {name: Turns(tuple(wall[name]), tuple(used[name])) for name in sides}
