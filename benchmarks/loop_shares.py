"""What a loop spends its processor time on: physics, policies, learning, the store, and the rest.

A short loop runs in this process. Timers stand around the few functions through which all work of
a kind goes, and each counts the processor time of its own thread. A function within another counts
for itself only. Physics includes the control and sensing that are compiled between its steps.
Processes of the loop's own count as learning, with their imports. The rest is the difference to the
time of all processes together, from the first episode's beginning on.
"""

from __future__ import annotations

import os
import pkgutil
import statistics
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

from enpire import improve
from enpire.store import Run

LEARNING, REST = "learning", "rest"
PARTS = {
    "physics": (
        "enpire.twin.twin:Twin.run",
        "enpire.twin.twin:Twin.forward",
        "enpire.twin.twin:Twin.reset",
        "enpire.twin.twin:Twin.set_const",
    ),
    "sensing, control": (
        "enpire.environment.control.sensing:Sensors.read",
        "enpire.environment.control.sensing:Sensors.begin",
        "enpire.environment.control.cartesian_control:CartesianControl.apply",
        "enpire.environment.control.cartesian_control:CartesianControl.follow",
    ),
    "resets": (
        "enpire.environment.stations.resets:Resets.begin",
        "enpire.environment.stations.resets:Resets.period_over",
    ),
    "rendering": ("mujoco:Renderer.update_scene", "mujoco:Renderer.render"),
    "inference": ("enpire.environment.stations.action_selector:ActionSelector.choose",),
    LEARNING: ("enpire.improvement.online_process:OnlineProcess.policy",),
    "verification": (
        "enpire.environment.stations.execution_ending:ExecutionEnding.look",
        "enpire.environment.stations.verifier:Verifier.period_over",
    ),
    "storage": (
        "enpire.store.writer:EpisodeWriter.put",
        "enpire.store.run:Run.add_episodes",
        "enpire.store.run:Run.save_policy",
        "enpire.store.run:Run.episodes_of",
    ),
}
BEGINS = "enpire.environment.stations.stations:Stations.begin"
SHORT = {
    "target": 1.0,
    "max_rounds": 1,
    "demonstrations": 20,
    "collect": 60,
    "max_pairs": 20,
    "recipe": "replay_bc",
    "recipe_settings": {"training.steps": 100},
    "first_recipe_settings": {"training.steps": 100},
}
"""A loop that is nearly all episodes, where the harness could be most in the way. Nothing in it
hangs on the clock: a seed is always the same work."""


@dataclass(frozen=True, slots=True)
class LoopShares:
    """What one loop spent.

    parts: processor time of each part since the first episode began [s]. start_s: before it.
    episodes: that were recorded. wall_s: on the clock, since the first episode began [s].
    """

    parts: dict[str, float]
    start_s: float
    wall_s: float
    episodes: int

    @property
    def processor_s(self) -> float:
        """Since the first episode began [s]."""
        return sum(self.parts.values())

    def share(self, part: str) -> float:
        """How much of the processor time went into a part."""
        return self.parts[part] / self.processor_s


@dataclass(frozen=True, slots=True)
class LoopBench:
    """Loops of one task, each with a seed of its own."""

    task: str
    stations: int
    images: int
    loops: tuple[LoopShares, ...]

    def as_json(self) -> dict[str, Any]:
        """As plain values."""
        return asdict(self)


def bench_loop(
    task: str,
    folder: Path,
    stations: int = 4,
    loops: int = 5,
    seed: int = 0,
    images: int = 0,
    **options: Any,
) -> LoopBench:
    """Run loops in folders under `folder`, by default of `SHORT`.

    images: size of the pictures that policies see [px]; 0: they see none. options: of the loops,
    in place of all of these.
    """
    options = {"images": images} | (options or SHORT)
    done = []
    for number in range(seed, seed + loops):
        with part_times() as times:
            improve(task, robots=stations, seed=number, run=folder / str(number), **options)
            done.append(times.shares(_recorded(folder / str(number))))
    return LoopBench(task, stations, images, tuple(done))


def _recorded(folder: Path) -> int:
    with Run.open(folder) as run:
        return len(run.ledger.episodes())


class PartTimes:
    """Processor time by part, from the first episode's beginning on."""

    def __init__(self) -> None:
        self._children_s = _children_s()  # of those that ended before the first episode
        self._began = _spent()
        self._first: tuple[float, float] | None = None  # processor time, clock [s]
        self._lock = threading.Lock()
        self._seconds = dict.fromkeys(PARTS, 0.0)
        self._threads = threading.local()

    def begin(self) -> None:
        """An episode begins."""
        if self._first is None:
            self._first = _spent(), time.perf_counter()
            self._children_s = _children_s()
            self._seconds = dict.fromkeys(PARTS, 0.0)

    def timed(self, part: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return the function, whose time counts to a part, but for what counts to another."""

        def counted(*arguments: Any, **named: Any) -> Any:
            within = getattr(self._threads, "inner_s", 0.0)
            self._threads.inner_s = 0.0
            began = time.thread_time()
            try:
                return function(*arguments, **named)
            finally:
                took = time.thread_time() - began
                with self._lock:
                    self._seconds[part] += took - self._threads.inner_s
                self._threads.inner_s = within + took

        return counted

    def shares(self, episodes: int) -> LoopShares:
        """What was spent so far."""
        if self._first is None:
            raise ValueError("no episode has begun")
        spent_s, clock_s = self._first
        parts = dict(self._seconds)
        parts[LEARNING] += _children_s() - self._children_s
        rest = _spent() - spent_s - sum(parts.values())
        return LoopShares(
            parts | {REST: rest},
            spent_s - self._began,
            time.perf_counter() - clock_s,
            episodes,
        )


@contextmanager
def part_times() -> Iterator[PartTimes]:
    """Have timers around the functions of all parts until the block ends."""
    times = PartTimes()
    before: list[tuple[type, str, Any]] = []
    try:
        for part, names in PARTS.items():
            for name in names:
                before.append(_replace(name, partial(times.timed, part)))
        before.append(_replace(BEGINS, lambda one: _told(one, times.begin)))
        yield times
    finally:
        for owner, name, function in reversed(before):
            setattr(owner, name, function)


def _replace(
    name: str, made: Callable[[Callable[..., Any]], Callable[..., Any]]
) -> tuple[type, str, Any]:
    where, _, method = name.rpartition(".")
    owner = pkgutil.resolve_name(where)
    function = getattr(owner, method)
    setattr(owner, method, made(function))
    return owner, method, function


def _told(function: Callable[..., Any], tell: Callable[[], None]) -> Callable[..., Any]:
    def telling(*arguments: Any, **named: Any) -> Any:
        tell()
        return function(*arguments, **named)

    return telling


def _spent() -> float:
    """Processor time of this process and of the children that have ended [s]."""
    return time.process_time() + _children_s()


def _children_s() -> float:
    times = os.times()
    return times.children_user + times.children_system


def table(bench: LoopBench) -> str:
    """Return a table for a person: the median share of each part, with least and largest."""
    lines = ["| part | share of processor time | seconds |", "|---|---|---|"]
    for part in bench.loops[0].parts:
        shares = [loop.share(part) for loop in bench.loops]
        seconds = statistics.median(loop.parts[part] for loop in bench.loops)
        lines.append(f"| {part} | {_interval(shares)} | {seconds:.2f} |")
    return "\n".join(lines)


def _interval(shares: Sequence[float]) -> str:
    return f"{statistics.median(shares):.1%} [{min(shares):.1%}, {max(shares):.1%}]"
