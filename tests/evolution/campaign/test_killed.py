"""kill -9 of the whole process, at any time: nothing is lost, and nothing counted twice."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from enpire.evolution.audit import audit
from enpire.evolution.experiments import unbiased_estimate
from enpire.evolution.experiments.events import MATCH, replay_events
from enpire.evolution.experiments.experiment import FINAL
from enpire.store import Run
from enpire.types import Purpose

KILLS = 30
LONGEST = 10  # steps that a process lives, episodes and writes of the ledger


@pytest.mark.slow
@pytest.mark.timeout(1500)
def test_a_campaign_is_killed_at_random_thirty_times(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, rng = tmp_path / "run", np.random.default_rng(5)
    killed = 0
    while killed < KILLS:
        if not lives(folder, int(rng.integers(1, LONGEST)), float(rng.uniform(0.0, 0.1))):
            break  # it came to its end before
        killed += 1
    assert killed >= 5, "it was hardly disturbed"
    assert not lives(folder, 10**9)
    with Run.open(folder) as run:
        record = replay_events(run.ledger.events())
        assert [e.id for e in record.experiments if e.agent == "one"] == ["one-0", "one-1"]
        assert [e.id for e in record.experiments if e.agent == "two"] == ["two-0"]
        decided = [e for e in record.experiments if e.decided]
        assert len(record.decided) == len(decided) == len(set(record.decided))
        for number, _ in record.decided:
            notes = [n for n in run.ledger.decisions() if n.round == number and n.kind in FINAL]
            assert len(notes) == 1
        matches = [row.experiment for row in run.ledger.events() if row.kind == MATCH]
        assert len(matches) == sum(len(e.matches) for e in record.entries.values())
        episodes = run.episodes(without=None)
        assert len({e.id for e in episodes}) == len(episodes)
        (sealed,) = run.ledger.sealed()
        passed = [e for e in episodes if e.purpose is Purpose.SEALED and "aborted" not in e.id]
        assert len(passed) == sealed.trials >= 27
        monkeypatch.setattr(unbiased_estimate, "ENOUGH", 8)
        assert [check for check in audit(run) if not check.holds] == []


def lives(folder: Path, steps: int, seconds: float = 0.0) -> bool:
    """Run the campaign for so many steps, and a moment, then kill it; False if it had ended."""
    command = [sys.executable, "-m", "tests.evolution.killable", str(folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        if process.stdout is None:
            pytest.fail("it has no output")
        for _ in range(steps):
            if not process.stdout.readline():
                assert process.wait() == 0
                return False
        time.sleep(seconds)  # into whatever comes next
        process.kill()
        return True
