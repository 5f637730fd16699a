"""Hands on the command line: a teleoperator of LeRobot's, and what cannot be."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from enpire.cli import main
from enpire.store import Run
from enpire.types import Outcome, Purpose
from tests.cli.test_collect import Blind

TEACH = ["collect", "--task", "pick_cube", "--episodes", "1"]


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    pytest.importorskip("lerobot.teleoperators")
    from enpire.drivers.lerobot import bus
    from tests.drivers import lerobot_plugin

    lerobot_plugin.install(tmp_path / "site", monkeypatch)
    monkeypatch.setattr("enpire.people.LiveView", Blind)
    monkeypatch.setattr(bus, "PATIENCE_S", 30.0)  # a busy machine reads late, too
    monkeypatch.setattr("enpire.people.devices.SILENT_S", 30.0)
    return tmp_path


def of(folder: Path) -> list[str]:
    return ["--teleop.calibration_dir", str(folder / "calibration")]


@pytest.mark.medium
def test_a_pad_of_lerobots_demonstrates(site: Path) -> None:
    run = site / "run"
    asked = [*TEACH, "--teleop", "lerobot:twin_pad", "--teleop.seconds", "3", *of(site)]
    assert main([*asked, "--run", str(run)]) == 0
    with Run.open(run) as made:
        (episode,) = made.episodes()
    assert (episode.policy, episode.purpose) == ("person", Purpose.DEMONSTRATION)
    assert episode.verdict.outcome is Outcome.FAILURE, "judged, not believed"
    assert (episode.actions[:, 2] == 1.0).all()
    assert (episode.actions[:, 6] == -1.0).all()
    assert not episode.actions[:, [0, 1, 3, 4, 5]].any()


def test_what_a_pad_discards_is_aborted(site: Path) -> None:
    run = site / "run"
    asked = [*TEACH, "--teleop", "lerobot:twin_pad", "--teleop.seconds", "1", *of(site)]
    assert main([*asked, "--teleop.ends", "rerecord_episode", "--run", str(run)]) == 0
    with Run.open(run) as made:
        (episode,) = made.episodes()
    assert episode.verdict.outcome is Outcome.ABORTED


def test_a_leader_has_the_axes_that_the_robots_drivers_say(site: Path) -> None:
    from enpire.environment import build_stations
    from enpire.people import Leading
    from enpire.session.teleop_options import DeviceRequest, open_teleop

    stations = build_stations("pick_cube", 1)
    said = {"calibration_dir": str(site / "calibration"), "away": "20"}
    for leader in ({}, {"leader": "so101"}):
        with open_teleop(DeviceRequest("lerobot:twin_leader", said | leader), stations) as found:
            assert found.hands is not None
            device = found.hands.device
            assert isinstance(device, Leading)
            assert device.arms == 1
            assert device._rested[0] == pytest.approx(np.radians(20))


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--teleop", "mouse"], "'mouse' are no hands"),
        (["--teleop", "lerobot:"], "are no hands"),
        (["--teleop", "script", "--teleop.port", "x"], "port is a setting of lerobot:TYPE"),
    ],
)
def test_hands_that_cannot_be_are_refused(
    words: list[str], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*TEACH, *words]) == 2
    assert says in capsys.readouterr().err


def test_teleoperators_that_cannot_be_are_refused(
    site: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*TEACH, "--teleop", "lerobot"]) == 2
    assert "names no teleoperator: lerobot:TYPE" in capsys.readouterr().err
    assert main([*TEACH, "--teleop", "lerobot:twin_leadr"]) == 1
    assert "did you mean twin_leader" in capsys.readouterr().err
    assert main([*TEACH, "--teleop", "lerobot:twin_leader", "--teleop.awy", "3"]) == 1
    assert "does not parse" in capsys.readouterr().err


HELP = ["--recipe", "recover", "--recipe.corrector", "helper"]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--helper", "mouse"], "'mouse' are no hands"),
        (["--helper", "script", "--abort"], "--abort ends the episodes that --helper helps"),
        (["--helper.port", "x"], "settings of a helper without one"),
        (HELP, "recover is to have a helper correct: --helper says who"),
    ],
)
def test_helpers_that_cannot_be_are_refused(
    words: list[str], says: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ["loop", "--task", "pick_cube", "--robots", "1", "--run", str(tmp_path / "run")]
    assert main([*asked, *words]) == 2
    assert says in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


@pytest.mark.slow
def test_a_loop_with_a_script_in_a_persons_place(tmp_path: Path) -> None:
    asked = ["loop", "--task", "pick_cube", "--robots", "2", "--helper", "script"]
    asked += ["--demonstrations", "2", "--start-episodes", "2", "--collect", "2"]
    asked += ["--max-rounds", "1", "--max-pairs", "1", "--first-recipe.training.steps", "20"]
    asked += [*HELP, "--recipe.training.steps", "20", "--recipe.estimate_steps", "20"]
    asked += ["--recipe.share", "0.5"]
    assert main([*asked, "--run", str(tmp_path / "run")]) == 3
    with Run.open(tmp_path / "run") as run:
        collected = list(run.episodes(Purpose.COLLECTION))
        (note,) = [n for n in run.ledger.decisions() if n.kind == "helped"]
        assert run.config["loop"]["helper"] == "script"
    assert {e.policy for e in collected} == {"policy-0", "policy-0+demonstrator"}
    assert note.numbers["interventions"] >= 1.0
    assert all(e.success for e in collected if e.helped)
