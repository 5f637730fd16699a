"""Whole loops on stations with arms, which are simulated: every process, in real time."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from enpire.cli import main
from enpire.store import Run
from enpire.types import LOST, Outcome, Purpose
from tests.drivers.dds import alone_in_the_network, require_dds
from tests.simulation.running import lerobots, realtime, simulated, written

NOT_REACHED = 3
TRIES = 5  # of a check: a busy machine's readings may be late
SHORT = ("--demonstrations", "2", "--start-episodes", "1", "--max-rounds", "0")
QUICK = ("--first-recipe.training.steps", "20")


@pytest.mark.slow
def test_a_loop_over_lerobot_runs_to_its_end(tmp_path: Path, monkeypatch) -> None:
    pytest.importorskip("lerobot.robots")
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    station = lerobots(tmp_path)
    lab, run = str(station.path), tmp_path / "run"
    with simulated(station):
        assert any(main(["station", "check", lab]) == 0 for _ in range(TRIES))
        asked = ["loop", "--task", "pick_cube", "--station", lab, "--confirm-motion"]
        assert main([*asked, *SHORT, *QUICK, "--run", str(run)]) == NOT_REACHED
    with Run.open(run) as ended:
        shown = [e for e in ended.episodes(Purpose.DEMONSTRATION) if e.verdict.stage != LOST]
        assert len(shown) >= 2
        assert any(e.verdict.outcome is Outcome.SUCCESS for e in shown)
        assert ended.ledger.policies()
        assert ended.ledger.facts()["state"] == "--max-rounds is used up"


@pytest.mark.slow
def test_a_loop_over_ros2_is_judged_by_its_cameras(tmp_path: Path, monkeypatch) -> None:
    pytest.importorskip("rclpy")
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    alone_in_the_network(monkeypatch)
    require_dds()
    wire = '[ros2]\nnamespace = "/left"\nsimulated = true\nwrenches = ["wrench"]\n'
    said = f'cameras = ["front", "side"]\n{wire}{realtime()}'
    station = written(tmp_path, "lab", "ros2", said)
    lab, run = str(station.path), tmp_path / "run"
    with simulated(station):
        assert any(main(["station", "check", lab]) == 0 for _ in range(TRIES))
        asked = ["loop", "--task", "pick_cube", "--station", lab, "--confirm-motion"]
        asked += ["--verify", "cameras"]
        assert main([*asked, *SHORT, *QUICK, "--run", str(run)]) == NOT_REACHED
    with Run.open(run) as ended:
        assert ended.ledger.facts()["verified_by"] == "the station's cameras"
        good = [e for e in ended.episodes() if e.verdict.outcome is Outcome.SUCCESS]
        assert good
        assert "gripped" in {p.name for p in good[0].verdict.predicates}  # by what cameras see
    seen = {path.stem.rsplit("-", 1)[1] for path in (run / "evidence").glob("*.png")}
    assert seen == {"front", "side"}


@pytest.mark.slow
def test_a_loop_over_shared_memory_sees_by_its_cameras(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    station = written(tmp_path, "lab", "twin", f'cameras = ["front", "side"]\n{realtime()}')
    lab, run = str(station.path), tmp_path / "run"
    with simulated(station):
        assert any(main(["station", "check", lab]) == 0 for _ in range(TRIES))
        asked = ["loop", "--task", "pick_cube", "--station", lab, "--confirm-motion"]
        asked += ["--verify", "cameras", "--images", "32"]
        assert main([*asked, *SHORT, *QUICK, "--run", str(run)]) == NOT_REACHED
    with Run.open(run) as ended:
        assert ended.ledger.facts()["verified_by"] == "the station's cameras"
        shown = ended.episodes(Purpose.DEMONSTRATION)
        assert any(e.verdict.outcome is Outcome.SUCCESS for e in shown)
        assert all(e.pictures.shape[1:] == (2, 32, 32, 3) for e in shown if len(e.pictures))
        (acted,) = [e for e in ended.episodes(Purpose.EVALUATION) if e.verdict.stage != LOST]
        assert len(acted.pictures) > 5
        assert (np.diff(acted.pictured) > 0).all()
        assert ended.ledger.policies()


@pytest.mark.slow
def test_a_dry_run_goes_through_a_whole_loop_and_needs_no_arm(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    arm = '[lerobot.config]\nport = "/dev/there_is_no_arm"\n'
    station = written(tmp_path, "lab", "lerobot", arm + realtime())
    lab, run = str(station.path), tmp_path / "run"
    asked = ["loop", "--task", "pick_cube", "--station", lab, "--dry-run"]
    assert main([*asked, *SHORT, *QUICK, "--run", str(run)]) == NOT_REACHED
    sent = np.loadtxt(tmp_path / "lab.sent.csv", delimiter=",")
    assert sent.shape[1] == 1 + 6
    speed = np.diff(sent[:, 1:6], axis=0).max(0) / station.period
    assert (speed <= np.array(station.robot.limits.joint_speed) * 1.001).all()
    assert np.ptp(sent[:, 1]) > 0.05  # it would have gone somewhere
    with Run.open(run) as ended:
        assert ended.ledger.policies()
        assert "dry run" in ended.ledger.facts()["verified_by"]
    assert main(["station", "park", lab, "--confirm-motion"]) == 1  # nothing was checked by it
