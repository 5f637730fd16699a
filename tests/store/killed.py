"""Writers that are killed at random: `python -m tests.store.killed FOLDER COUNT RUN`.

Each writer is forked, goes on with the run that the last one left, and dies by SIGKILL in one of
its calls of the operating system, which is drawn. What it had said to be recorded must be there,
whole, once. It prints how many were killed, and ends with an error at the first run that is not so.
RUN writers go on with one run before the next one begins. All of a run is read after each of them.
"""

from __future__ import annotations

import os
import signal
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from enpire.store import LogEntry, Run
from enpire.store.fsck import check
from tests.store.samples import episode

CALLS = ("open", "write", "fsync", "rename", "mkdir", "unlink", "close", "pwrite", "ftruncate")
LAST = 400  # of the calls that it may die in; most writers make fewer than half of them
CHECK = 10  # every so many runs of a writer are held against everything


def mortal(step: int) -> None:
    """Have the calls of this process counted, and the one of this number be its last."""
    left = step

    def counted(call: Callable[..., Any]) -> Callable[..., Any]:
        def wrapper(*arguments: Any, **options: Any) -> Any:
            nonlocal left
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)
            left -= 1
            return call(*arguments, **options)

        return wrapper

    for name in CALLS:
        setattr(os, name, counted(getattr(os, name)))


def write(folder: Path, number: int, said: int) -> None:
    """Write in all ways, again and again; `said` is told what is recorded, each with a number."""
    tell = os.write  # of the real system: what is told does not count
    mortal(int(np.random.default_rng(number).integers(LAST)))
    with Run.open(folder, writable=True) as run:
        for part in range(6):
            name = f"{number}-{part}"
            run.add_episodes([episode(f"{name}-a"), episode(f"{name}-b")])
            tell(said, f"e {name}\n".encode())
            run.save_policy(name, {"w": np.ones(3)}, {})
            tell(said, f"p {name}\n".encode())
            run.ledger.set_policy_state(name, "incumbent")
            run.ledger.add_decision(LogEntry(1, "promoted", name))
            tell(said, f"d {name}\n".encode())
            run.write_result({"success": part / 6})


def forked(folder: Path, number: int) -> tuple[bool, list[str]]:
    """Whether a writer was killed, and what it had said."""
    reads, writes = os.pipe()
    child = os.fork()
    if not child:
        try:
            write(folder, number, writes)
            os._exit(0)
        except BaseException:
            traceback.print_exc()
            os._exit(1)
    os.close(writes)
    with os.fdopen(reads, encoding="utf-8") as pipe:
        said = pipe.read().splitlines()
    status = os.waitpid(child, 0)[1]
    if os.WIFEXITED(status) and os.WEXITSTATUS(status):
        raise SystemExit(f"writer {number} ended with an error")
    return os.WIFSIGNALED(status), said


def require_whole(folder: Path, told: set[str], thorough: bool) -> None:
    """Raise AssertionError unless what was told is there, each episode once and whole."""
    if thorough:
        damage = [str(each) for each in check(folder).damage if "has no row" not in each.what]
        assert damage == []
    with Run.open(folder, writable=True) as run:
        episodes = run.episodes(without=None)
        ids = [each.id for each in episodes]
        assert len(ids) == len(set(ids))
        assert {f"e {id.removesuffix('-a')}" for id in ids if id.endswith("-a")} >= {
            each for each in told if each.startswith("e")
        }
        assert all(f"{id.removesuffix('-a')}-b" in ids for id in ids if id.endswith("-a"))
        assert {f"p {row.name}" for row in run.ledger.policies()} >= {
            each for each in told if each.startswith("p")
        }
        texts = [note.text for note in run.ledger.decisions() if note.kind == "promoted"]
        assert len(texts) == len(set(texts))
        assert {f"d {text}" for text in texts} >= {each for each in told if each.startswith("d")}
        if thorough:
            assert all(len(each) == 5 for each in episodes), "their arrays are read, and hashed"
            for row in run.ledger.policies():
                run.load_policy(row.name)


def main(folder: Path, kills: int, writers: int) -> None:
    """Kill so many, of so many writers for each run."""
    killed = number = 0
    while killed < kills:
        run, told = folder / f"run-{number}", set[str]()
        Run.create(run, {}).close()
        for _ in range(writers):
            number += 1
            died, said = forked(run, number)
            killed += died
            told |= set(said)
            require_whole(run, told, number % CHECK == 0)
            if killed >= kills:
                break
        require_whole(run, told, True)
    print(killed)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
