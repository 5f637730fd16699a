"""After a loss of power at any call, in any order that a disk chooses, nothing recorded is lost."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from enpire.store import LogEntry, Run, durable
from enpire.store.fsck import check
from enpire.types import Frame, Outcome, Verdict
from tests.store.power_loss import PowerLoss
from tests.store.samples import episode

LEFT = b"of a process that died"


def _recorded(folder: Path) -> PowerLoss:
    """A run is opened, with what a dead process left in it, written in all its ways, and closed."""
    with Run.create(folder, {}) as run:
        run.add_episodes([episode("a")])
        run.write_result({"success": 0.0})
    (folder / "policies/left.safetensors").write_bytes(LEFT)
    seen = Verdict(Outcome.FAILURE, frames=(Frame("front", np.zeros((4, 4, 3), np.uint8)),))
    disk = PowerLoss(folder)
    with disk.recording(), Run.open(folder, writable=True) as run:
        run.add_episodes([episode("b"), episode("c", verdict=seen)])
        run.save_policy("p", {"w": np.ones(3)}, {})
        run.ledger.set_policy_state("p", "incumbent")
        run.ledger.add_decision(LogEntry(1, "promoted", "p"))
        run.write_result({"success": 0.5})
        run.add_episodes([episode("d")])
        run.write_result({"success": 1.0})
    return disk


def _survives(folder: Path) -> None:
    """Whatever its ledger knows of is there, what it does not know too, and it goes on."""
    assert LEFT in {path.read_bytes() for path in folder.rglob("left.*")}
    before = [str(each) for each in check(folder).damage if "has no row" not in each.what]
    assert not before, "what was under way has no row; all else is as it was recorded"
    with Run.open(folder, writable=True) as run:
        known = [row.id for row in run.ledger.episodes()]
        assert [each.id for each in run.episodes(without=None)] == known
        for row in run.ledger.policies():
            run.load_policy(row.name)
        run.add_episodes([episode("next")])
    assert not check(folder).damage


def _states(disk: PowerLoss, tmp_path: Path, count: int) -> int:
    rng = np.random.default_rng(0)
    prefixes = np.linspace(1, len(disk.calls), count).astype(int)
    for number, prefix in enumerate(prefixes):
        state = tmp_path / "state"
        survival = (0.0, 0.5, 0.9)[number % 3]
        disk.leave(state, int(prefix), survival, rng)
        try:
            _survives(state)
        except Exception as error:
            raise AssertionError(f"state {number} after {prefix} calls: {error}") from error
        shutil.rmtree(state)
    return len(prefixes)


@pytest.mark.medium
def test_some_hundred_states(tmp_path: Path) -> None:
    disk = _recorded(tmp_path / "run")
    assert len(disk.calls) > 30
    assert _states(disk, tmp_path, 300) == 300


@pytest.mark.slow  # the hundreds above are as many as fit
@pytest.mark.timeout(7200)
def test_twenty_thousand_states(tmp_path: Path) -> None:
    assert _states(_recorded(tmp_path / "run"), tmp_path, 20_000) == 20_000


@pytest.mark.medium
def test_a_write_that_is_not_forced_to_the_disk_is_found_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(durable, "fsync", lambda path: None)
    disk = _recorded(tmp_path / "run")
    with pytest.raises(AssertionError, match="state"):
        _states(disk, tmp_path, 100)
