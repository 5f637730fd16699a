"""A writer killed with SIGKILL at any step leaves a run that opens, whole.

Killing the process shows that the order of steps is right; that each step is on the disk before the
next, as a loss of power needs, is what `test_durable` holds.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from enpire.store import Run
from enpire.store.episodes import iterate, read_batch

TESTS = Path(__file__).parents[1]


def python(script: str, folder: Path) -> dict[str, Any]:
    """Arguments of a process that runs `script` on `folder` with this project in reach."""
    paths = [str(TESTS), str(TESTS.parent), os.environ.get("PYTHONPATH", "")]
    return {
        "args": [sys.executable, "-c", script, str(folder)],
        "env": os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, paths))},
    }


# Forks a writer for each step, on a copy of a run with one batch and one policy: the child records
# another of each, in which its n-th call of the operating system is its last.
AT_EVERY_STEP = """
import os, shutil, signal, sys
from pathlib import Path
import numpy as np
from enpire.store import Run
from store.samples import episode

def write(folder, step):
    left = -1
    def counted(call):
        def wrapper(*arguments, **options):
            nonlocal left
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)
            left -= 1
            return call(*arguments, **options)
        return wrapper
    for name in ("open", "write", "fsync", "rename", "mkdir"):
        setattr(os, name, counted(getattr(os, name)))
    run = Run.open(folder, writable=True)
    left = step
    run.add_episodes([episode("c"), episode("d")])
    run.save_policy("q", {"w": np.ones(3)}, {})

base, copies = Path(sys.argv[1], "base"), Path(sys.argv[1], "killed")
with Run.create(base, {}) as run:
    run.add_episodes([episode("a"), episode("b")])
    run.save_policy("p", {"w": np.ones(3)}, {})
step = 0
while True:
    folder = copies / f"{step:03d}"
    shutil.copytree(base, folder)
    child = os.fork()
    if not child:
        write(folder, step)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    if os.WIFEXITED(status):
        sys.exit(os.WEXITSTATUS(status))
    step += 1
"""

# Records batch after batch and says which are recorded.
WITHOUT_END = """
import sys
from pathlib import Path
from enpire.store import Run
from store.samples import episode

run = Run.open(Path(sys.argv[1]), writable=True)
number = len(run.ledger.episodes())
while True:
    run.add_episodes([episode(str(number)), episode(str(number + 1), length=300)])
    number += 2
    print(number, flush=True)
"""


def _files(run: Run) -> tuple[set[str], set[str]]:
    """Batches and policies that a reader of the folder would see."""
    episodes, policies = (os.listdir(run.folder / name) for name in ("episodes", "policies"))
    return {f"episodes/{n}" for n in episodes}, {f"policies/{n}" for n in policies}


def _assert_whole(run: Run) -> list[str]:
    """Every row has its file with its hash, and every file its row; ids in the order recorded."""
    rows = run.ledger.episodes()
    for row in rows:
        assert read_batch(run.folder / row.path, row.sha256)[row.index].id == row.id
    for policy in run.ledger.policies():
        run.load_policy(policy.name)
    found = _files(run)
    assert found == ({r.path for r in rows}, {p.path for p in run.ledger.policies()}), run.notes
    return [row.id for row in rows]


def test_killed_at_every_step(tmp_path: Path) -> None:
    subprocess.run(**python(AT_EVERY_STEP, tmp_path), check=True, timeout=60)
    folders = sorted((tmp_path / "killed").iterdir())
    seen = []
    for folder in folders:
        visible = [episode.id for episode in iterate(folder / "episodes")]
        assert visible in (["a", "b"], ["a", "b", "c", "d"]), "no batch is there in part"
        with Run.open(folder, writable=True) as run:
            ids = _assert_whole(run)
            seen.append((len(ids), len(run.ledger.policies())))
    assert len(folders) > 12
    assert seen == sorted(seen), "what is recorded only grows with the steps taken"
    assert set(seen) == {(2, 1), (4, 1), (4, 2)}


def test_killed_at_any_moment(tmp_path: Path) -> None:
    Run.create(tmp_path / "run", {}).close()
    rng = np.random.default_rng(0)
    said = 0
    for _ in range(3):
        with subprocess.Popen(
            **python(WITHOUT_END, tmp_path / "run"), stdout=subprocess.PIPE, text=True
        ) as writer:
            assert writer.stdout is not None
            for _ in range(rng.integers(1, 12)):
                said = int(writer.stdout.readline())
            writer.send_signal(signal.SIGKILL)
            for line in writer.stdout:
                said = int(line)
        with Run.open(tmp_path / "run", writable=True) as run:
            ids = _assert_whole(run)
        assert ids == [str(i) for i in range(len(ids))]
        assert len(ids) >= said, "what was said to be recorded is"
        assert len(ids) % 2 == 0


def test_the_lock_dies_with_its_holder(tmp_path: Path) -> None:
    Run.create(tmp_path / "run", {}).close()
    with subprocess.Popen(
        **python(WITHOUT_END, tmp_path / "run"), stdout=subprocess.PIPE
    ) as writer:
        assert writer.stdout is not None
        writer.stdout.readline()
        with pytest.raises(Exception, match=f"another process .id {writer.pid}"):
            Run.open(tmp_path / "run", writable=True)
        writer.kill()
    Run.open(tmp_path / "run", writable=True).close()


def _killed(folder: Path, kills: int, writers: int) -> int:
    """How many writers were killed, so many of each run; none of them has lost anything."""
    counts = str(kills), str(writers)
    program = [sys.executable, "-m", "tests.store.killed", str(folder), *counts]
    ended = subprocess.run(program, cwd=TESTS.parent, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    return int(ended.stdout)


@pytest.mark.medium
def test_a_hundred_writers_killed_at_random_lose_nothing(tmp_path: Path) -> None:
    assert _killed(tmp_path, 100, 15) == 100


@pytest.mark.slow
@pytest.mark.timeout(10_800)
def test_ten_thousand_writers_killed_at_random_lose_nothing(tmp_path: Path) -> None:
    assert _killed(tmp_path, 10_000, 60) == 10_000
