"""kill -9 of trainers and of policies' processes, alone, while their campaign goes on."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

from enpire.evolution.experiments.events import FIRST, replay_events
from enpire.evolution.experiments.experiment import FINAL, ExperimentState
from enpire.store import Run
from tests.evolution.hostile.arena import needs_sandbox
from tests.evolution.killable import CODED, PLAN
from tests.processes import below, words_of

KILLS = 30
CHILDREN = ("enpire.improvement.worker", "policy_worker.py")  # and sandboxes of these
LOOK_S = 0.05
CHANCE, AGE_S = 0.3, 6.0  # that a process is killed, and the age at which it is at most


@needs_sandbox
@pytest.mark.slow
@pytest.mark.timeout(3000)
def test_trainers_and_policies_are_killed_at_random_thirty_times(tmp_path: Path) -> None:
    rng, kills, campaigns = np.random.default_rng(7), dict.fromkeys(CHILDREN, 0), 0
    while sum(kills.values()) < KILLS:
        campaigns += 1
        assert campaigns < KILLS, "campaigns end before anything of theirs can be killed"
        disturb(tmp_path / str(campaigns), rng, kills)
    assert all(kills.values()), kills
    print(f"{kills} in {campaigns} campaigns")


def disturb(place: Path, rng: np.random.Generator, kills: dict[str, int]) -> None:
    """One campaign; whatever it has started is killed now and then."""
    temporary, folder = place / "tmp", place / "run"
    temporary.mkdir(parents=True)
    while not lives(folder, temporary, rng, kills):
        # Without a first policy there is no campaign: it ends by name, and is begun again.
        with Run.open(folder) as run:
            assert run.ledger.policy(FIRST) is None
    assert not list(temporary.glob("enpire-policy-*"))
    counted_once(folder)


def lives(folder: Path, temporary: Path, rng: np.random.Generator, kills: dict[str, int]) -> bool:
    """Start or continue it, to its end; False if that was an error."""
    command = [sys.executable, "-m", "tests.evolution.killable", str(folder), "coded"]
    environment = os.environ | {"TMPDIR": str(temporary)}
    with subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment
    ) as process:
        started: set[int] = set()
        ends: dict[int, float] = {}
        while process.poll() is None:
            with suppress(subprocess.TimeoutExpired):
                process.wait(LOOK_S)
            found = {p: w for p, w in below(process.pid) if any(c in w for c in CHILDREN)}
            for pid in found.keys() - started:
                started.add(pid)
                if rng.random() < CHANCE:
                    ends[pid] = time.monotonic() + rng.uniform(0.0, AGE_S)
            for pid in found.keys() & ends.keys():
                if time.monotonic() >= ends[pid]:
                    del ends[pid]
                    with suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGKILL)
                        kills[next(c for c in CHILDREN if c in found[pid])] += 1
    assert not [pid for pid in started if any(c in words_of(pid) for c in CHILDREN)]
    print(kills, flush=True)
    return process.returncode == 0


def counted_once(folder: Path) -> None:
    with Run.open(folder) as run:
        record = replay_events(run.ledger.events())
        for agent, tried in (PLAN | CODED).items():
            own = [e.id for e in record.experiments if e.agent == agent]
            assert own == [f"{agent}-{i}" for i in range(len(tried))]
        assert all(e.decided for e in record.experiments)
        assert len({number for number, _ in record.decided}) == len(record.decided)
        for number, _ in record.decided:
            notes = [n for n in run.ledger.decisions() if n.round == number and n.kind in FINAL]
            assert len(notes) == 1
        failed = [e.reason for e in record.experiments if e.state is ExperimentState.FAILED]
        named = ("training ended", "the loss is nan", "the policy's program")
        assert all(any(name in reason for name in named) for reason in failed), failed
        episodes = run.episodes(without=None)
        assert len({e.id for e in episodes}) == len(episodes)
