"""A loop that is killed at points of its store: `python -m tests.rollout.loop.killing FOLDER N`.

It forks a process for each start, so that what is imported and compiled is there already. It prints
a line for each point that it killed at, and ends with an error at the first that made a difference.
"""

from __future__ import annotations

import os
import shutil
import signal
import sys
import traceback
from collections.abc import Callable
from functools import partial
from pathlib import Path
from unittest import mock

import torch

from enpire.rollout.evaluation import seeds
from enpire.rollout.loop import round_decisions
from enpire.rollout.loop.state import LoopState
from enpire.store.fault_points import VARIABLE, passed
from enpire.store.fsck import check
from enpire.store.layout import LEDGER
from tests.entropy import repeatable
from tests.rollout.loop.test_loop import FAST, SLOW, Moves, go, same_end


def forked(work: Callable[[], object]) -> int:
    """How a child ended that did some work: `waitpid`'s status."""
    child = os.fork()
    if child:
        return os.waitpid(child, 0)[1]
    try:
        work()
        os._exit(0)
    except BaseException:
        traceback.print_exc()
        os._exit(1)


def draw(start: int) -> None:
    """Have sealed seeds be the same ones in each loop, so that all pass the same points."""
    mock.patch.object(seeds, "secrets", repeatable(start)).start()


def lives(run: Path, drawing: int, dies_at: int = 0) -> LoopState:
    """Begin a loop or go on with it, to its end, or to a point that is its last."""
    draw(drawing)
    if run.exists() and not (run / LEDGER).exists():  # never created: opening it says so
        shutil.rmtree(run)
    if dies_at:
        os.environ[VARIABLE] = f"*:{dies_at}:kill"
    return go(run, Moves(SLOW), Moves(FAST))


def comes_to_the_same(run: Path, whole: Path, drawing: int) -> None:
    """Go on with a loop, and hold its end against that of an undisturbed one."""
    same_end(run, whole, lives(run, drawing))
    if damage := check(run).damage:
        raise RuntimeError(f"fsck finds {damage}")


def main(folder: Path, kills: int) -> None:
    """Kill at so many points, as far apart as they can be; 0: at each, and what goes on again."""
    torch.set_num_threads(1)  # or else a pool of threads, which no fork has
    round_decisions.ENOUGH = 8
    whole = folder / "whole"
    with mock.patch.dict(os.environ, {VARIABLE: "*:0:kill"}):
        lives(whole, 0)
    points = passed(reset=True)
    chosen = range(1, points + 1, max(1, points // kills) if kills else 1)
    for number in list(chosen)[: kills or None]:
        run = folder / f"killed-{number}"
        status = forked(partial(lives, run, 0, number))
        if not os.WIFSIGNALED(status) or os.WTERMSIG(status) != signal.SIGKILL:
            sys.exit(f"point {number} of {points} was not its end: {status}")
        print(number, flush=True)
        # What it drew before may be kept, and is not drawn twice: others from here on.
        if not kills:
            again = 1 + number % (points + 1 - number)  # there may be fewer points left
            status = forked(partial(lives, run, number, again))
            if os.WIFEXITED(status) and os.WEXITSTATUS(status):
                sys.exit(f"killed at point {number} of {points} it does not go on")
            if os.WIFSIGNALED(status):
                print(f"{number}+{again}", flush=True)
        if forked(partial(comes_to_the_same, run, whole, points + number)):
            sys.exit(f"killed at point {number} of {points} it comes to another end")
        shutil.rmtree(run)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
