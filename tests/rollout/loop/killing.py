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
from pathlib import Path
from unittest import mock

import torch

from enpire.rollout.evaluation import seeds
from enpire.rollout.loop import round_decisions
from enpire.store.fault_points import VARIABLE, passed
from enpire.store.fsck import check
from enpire.store.layout import LEDGER
from tests.entropy import repeatable
from tests.rollout.loop.test_loop import FAST, SLOW, Moves, go, same_end


def forked(work: Callable[[], None]) -> int:
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


def main(folder: Path, kills: int) -> None:
    """Kill at so many points, as far apart as they can be; 0: at each."""
    torch.set_num_threads(1)  # or else a pool of threads, which no fork has
    round_decisions.ENOUGH = 8
    draw(0)
    whole = folder / "whole"
    with mock.patch.dict(os.environ, {VARIABLE: "*:0:kill"}):
        go(whole, Moves(SLOW), Moves(FAST))
    points = passed(reset=True)
    draw(0)
    chosen = range(1, points + 1, max(1, points // kills) if kills else 1)
    for number in list(chosen)[: kills or None]:
        run = folder / f"killed-{number}"

        def dies(run: Path = run, number: int = number) -> None:
            os.environ[VARIABLE] = f"*:{number}:kill"
            go(run, Moves(SLOW), Moves(FAST))

        def goes_on(run: Path = run, number: int = number) -> None:
            if run.exists() and not (run / LEDGER).exists():  # never created: opening it says so
                shutil.rmtree(run)
            draw(number)  # what it drew before may be kept, and is not drawn twice
            same_end(run, whole, go(run, Moves(SLOW), Moves(FAST)))
            damage = check(run).damage
            if damage:
                raise RuntimeError(f"fsck finds {damage}")

        status = forked(dies)
        if not os.WIFSIGNALED(status) or os.WTERMSIG(status) != signal.SIGKILL:
            sys.exit(f"point {number} of {points} was not its end: {status}")
        if forked(goes_on):
            sys.exit(f"killed at point {number} of {points} it comes to another end")
        print(number, flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
