"""What a loop pays for a dashboard that somebody has open, in processor time.

Two loops with the same seed do the same work, one of them with a dashboard and a page in a browser
that follows it. They run at the same moment, so what else the machine does slows both alike.
Processor time of a process does not hang on who else has its turn; time on the clock does, and is
told only of loops that had the machine to themselves.
"""

from __future__ import annotations

import math
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from itertools import count
from pathlib import Path
from typing import Any

from scipy import special

from enpire.child_environment import child_environment
from enpire.errors import EnpireError
from enpire.store import Run
from enpire.types import Purpose

NAME = "run"  # of each loop's folder
WORDS = (
    *("--robots", "4", "--demonstrations", "20", "--first-recipe.training.steps", "100"),
    *("--start-episodes", "200", "--collect", "60", "--max-rounds", "1", "--max-pairs", "20"),
    *("--recipe", "replay_bc", "--recipe.training.steps", "100", "--target", "1.0"),
)
"""A loop that is nearly all episodes, which is where a dashboard could be in its way. Nothing in it
hangs on the clock: one seed is always the same work, but for sealed seeds, which are drawn anew.
With this target nothing is sealed unless the first policy never failed."""

OVER = (0, 3)  # exit codes of a loop that has ended by itself


@dataclass(frozen=True, slots=True)
class Spent:
    """What a process took: user and system time, its children's too, and time on the clock [s]."""

    cpu_s: float
    wall_s: float


@dataclass(frozen=True, slots=True)
class WatchedPair:
    """The same loop twice.

    Attributes:
        alone: of the loop that nobody watched.
        watched: of the other one.
        dashboard: what its dashboard took.
        browser: what the browser took.
        episodes: of each.
    """

    alone: Spent
    watched: Spent
    dashboard: Spent
    browser: Spent
    episodes: int


@dataclass(frozen=True, slots=True)
class Ratio:
    """Watched to alone: the geometric mean over pairs, and its 95% interval."""

    mean: float
    low: float
    high: float


def ratio_of(pairs: Sequence[WatchedPair], of: Callable[[Spent], float]) -> Ratio:
    """Return how much more a watched loop takes; of: of what. Student's t on the logarithms."""
    logs = [math.log(of(pair.watched) / of(pair.alone)) for pair in pairs]
    mean = sum(logs) / len(logs)
    if len(logs) < 2:
        return Ratio(math.exp(mean), 0.0, math.inf)
    spread = math.sqrt(sum((each - mean) ** 2 for each in logs) / (len(logs) - 1) / len(logs))
    half = float(special.stdtrit(len(logs) - 1, 0.975)) * spread
    return Ratio(math.exp(mean), math.exp(mean - half), math.exp(mean + half))


class Child:
    """A process whose time is measured; a `with` block ends it."""

    def __init__(self, command: Sequence[str], log: Path, asked: bool = False) -> None:
        """Start it; asked: it tells its address on its standard output."""
        self._began = time.monotonic()
        self._log = log
        with log.open("ab") as file:
            self.process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE if asked else file,
                stderr=file,
                env=child_environment(),
            )

    def spent(self) -> Spent:
        """Wait until it ends; returns what it took."""
        _, status, usage = os.wait4(self.process.pid, 0)
        self.process.returncode = os.waitstatus_to_exitcode(status)
        return Spent(usage.ru_utime + usage.ru_stime, time.monotonic() - self._began)

    def ended(self) -> Spent:
        """Ask it to end; returns what it took."""
        self.process.terminate()
        return self.spent()

    def __enter__(self) -> Child:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.returncode is None:
            self.process.kill()
            self.spent()


def measure(
    folder: Path, pairs: int, task: str, seed: int, in_turn: bool, tell: Callable[[str], None]
) -> list[WatchedPair]:
    """Run pairs of loops; returns what each took.

    Args:
        folder: an empty one, for their runs and logs.
        pairs: how many.
        task: of the loops.
        seed: of the first pair; each has its own.
        in_turn: run them one after the other, for a machine with nothing else to do.
        tell: is told how far it is.

    Raises:
        EnpireError: a loop or a dashboard failed, or two loops did not do the same work.
    """
    made: list[WatchedPair] = []
    for number in count():
        if len(made) == pairs:
            break
        pair = _pair(folder / str(number), task, seed + number, in_turn, number % 2 == 1)
        if pair is None:
            tell(f"seed {seed + number}: its first policy never failed, so it was sealed: left out")
            continue
        ratio = pair.watched.cpu_s / pair.alone.cpu_s
        made.append(pair)
        tell(f"pair {len(made)} of {pairs}: {pair.episodes} episodes, {ratio:.3f}")
        shutil.rmtree(folder / str(number))
    return made


def _pair(
    folder: Path, task: str, seed: int, in_turn: bool, watched_first: bool
) -> WatchedPair | None:
    """Run a loop twice; who begins alternates. None if it drew sealed seeds: the work differs."""
    alone, watched = folder / "alone", folder / "watched"
    for each in (alone, watched):
        each.mkdir(parents=True)
    order = (watched, alone) if watched_first else (alone, watched)
    with ExitStack() as stack:
        dashboard, browser = _watching(stack, watched)
        loops: dict[Path, Child] = {}
        spent: dict[Path, Spent] = {}
        for each in order:
            loops[each] = stack.enter_context(_loop(each, task, seed))
            if in_turn:
                spent[each] = loops[each].spent()
        for each in order:
            if each not in spent:
                spent[each] = loops[each].spent()
        browsed, served = browser.ended(), dashboard.ended()
    for each in order:
        if loops[each].process.returncode not in OVER:
            raise EnpireError(f"the loop in {each} failed: see {each / 'log'}")
    episodes = _work(alone)
    if any(purpose is Purpose.SEALED for _, _, purpose, _ in episodes):
        return None
    if episodes != _work(watched):
        raise EnpireError(f"the loops in {folder} did not do the same work: they say nothing")
    return WatchedPair(spent[alone], spent[watched], served, browsed, len(episodes))


def _loop(folder: Path, task: str, seed: int) -> Child:
    words = ["loop", "--task", task, "--seed", str(seed), *WORDS, "--run", str(folder / NAME)]
    return Child([sys.executable, "-m", "enpire.cli", *words], folder / "log")


def _watching(stack: ExitStack, folder: Path) -> tuple[Child, Child]:
    """Start a dashboard on a folder of runs, and a browser on the page of the run to come."""
    words = [sys.executable, "-m", "enpire.cli", "dash", str(folder), "--port", "0"]
    dashboard = stack.enter_context(Child(words, folder.with_suffix(".dash"), asked=True))
    said = dashboard.process.stdout
    line = stack.enter_context(said).readline().decode() if said else ""
    _, _, address = line.strip().rpartition(": http://")
    if not address:
        raise EnpireError(f"no dashboard: see {folder.with_suffix('.dash')}")
    host, _, token = address.partition("/#")
    words = [sys.executable, "-m", "benchmarks.browser", f"http://{host}/runs/{NAME}#{token}"]
    browser = stack.enter_context(Child(words, folder.with_suffix(".browser")))
    return dashboard, browser


def _work(folder: Path) -> list[tuple[int, str, Purpose, str]]:
    """What was done, whatever the order in which it was committed."""
    with Run.open(folder / NAME) as run:
        rows = run.ledger.episodes()
        return sorted((row.seed, row.policy, row.purpose, row.outcome) for row in rows)


def markdown(pairs: Sequence[WatchedPair], in_turn: bool) -> str:
    """Say what came of it."""
    cpu = ratio_of(pairs, lambda spent: spent.cpu_s)
    lines = [
        f"A loop that is watched takes {_percent(cpu)} of processor time, over {len(pairs)} pairs "
        f"of {pairs[0].episodes} episodes or so."
    ]
    if in_turn:
        wall = ratio_of(pairs, lambda spent: spent.wall_s)
        lines.append(f"On the clock it takes {_percent(wall)}.")
    served = _share(pairs, lambda pair: pair.dashboard)
    shown = _share(pairs, lambda pair: pair.browser)
    lines.append(f"The dashboard took {served} of a core, the browser {shown}.")
    return "\n".join(lines)


def _percent(ratio: Ratio) -> str:
    low, high = 100 * (ratio.low - 1), 100 * (ratio.high - 1)
    return f"{100 * (ratio.mean - 1):+.1f}% [{low:+.1f}, {high:+.1f}]"


def _share(pairs: Sequence[WatchedPair], of: Callable[[WatchedPair], Spent]) -> str:
    spent = [of(pair) for pair in pairs]
    return f"{sum(one.cpu_s for one in spent) / sum(one.wall_s for one in spent):.1%}"


def as_json(pairs: Sequence[WatchedPair]) -> dict[str, Any]:
    """All that was measured, as plain values."""
    cpu = ratio_of(pairs, lambda spent: spent.cpu_s)
    return {"ratio": asdict(cpu), "pairs": [asdict(pair) for pair in pairs]}
