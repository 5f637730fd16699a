"""How long a command takes to begin: to say what it can do, or to simulate a first step.

Each is a new process of this Python, so all that it imports and compiles counts. `python` does
nothing: what is left of it is the interpreter's own. Machine code that was kept by an earlier
process is there already, as it is after set-up.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from enpire.child_environment import child_environment
from enpire.errors import EnpireError

STEP = """\
import sys
from enpire.environment import build_stations
stations = build_stations(sys.argv[1], int(sys.argv[2]))
stations.twin.step(range(len(stations)), 1)
with open("/proc/self/status") as status:
    print(*(line.split()[1] for line in status if line.startswith("VmHWM")))
"""
MANY = 64  # stations, for what they need of memory


@dataclass(frozen=True, slots=True)
class Began:
    """What processes took. processor_s, wall_s: median, least, largest [s].

    memory: most that one that steps had [B]; 0 of others. A process tells it itself, for what the
    system tells of a child counts its parent's from before it began.
    bar_s: what it should take at most on the clock of a machine that does nothing else; 0: none.
    """

    work: str
    processor_s: tuple[float, float, float]
    wall_s: tuple[float, float, float]
    memory: int
    bar_s: float

    def as_json(self) -> dict[str, Any]:
        """As plain values."""
        return asdict(self)


def bench_start(task: str, times: int = 5, many: int = MANY) -> list[Began]:
    """Begin each of them so many times, in turns.

    Args:
        task: whose scene is stepped.
        times: how often.
        many: stations of the last one.

    Raises:
        EnpireError: one failed.
    """
    commands: dict[str, tuple[Sequence[str], float]] = {
        "python": (("-c", "pass"), 0.0),
        "enpire --help": (("-m", "enpire.cli", "--help"), 0.1),
        f"first step of {task}": (("-c", STEP, task, "1"), 4.0),
        f"first step of {many} stations": (("-c", STEP, task, str(many)), 0.0),
    }
    taken: dict[str, list[tuple[float, float, int]]] = {work: [] for work in commands}
    for _ in range(times):
        for work, (command, _) in commands.items():
            taken[work].append(_spent(command))
    began = []
    for work, (_, bar_s) in commands.items():
        processor, wall, memory = zip(*taken[work], strict=True)
        began.append(Began(work, _told(processor), _told(wall), max(memory), bar_s))
    return began


def _told(values: Sequence[float]) -> tuple[float, float, float]:
    return statistics.median(values), min(values), max(values)


def _spent(command: Sequence[str]) -> tuple[float, float, int]:
    """Processor time [s], time on the clock [s], and most memory [B] of a process."""
    began = time.monotonic()
    process = subprocess.Popen(
        [sys.executable, *command], stdout=subprocess.PIPE, env=child_environment()
    )
    said = b""
    if process.stdout is not None:
        with process.stdout as told:
            said = told.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise EnpireError(f"{' '.join(command[:2])} ended with {process.returncode}: see above")
    wall_s = time.monotonic() - began
    memory = 1024 * int(said) if said.strip().isdigit() else 0
    return usage.ru_utime + usage.ru_stime, wall_s, memory
