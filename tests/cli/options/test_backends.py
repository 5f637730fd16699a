"""What the command line says of stations with arms, before anything moves."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from enpire.cli import main
from enpire.cli.options.backends import add_arms, add_cluster, backend_words
from enpire.cli.options.parser import Parser
from enpire.environment import Order
from enpire.errors import UsageError
from enpire.session.backends import HardwareBackend


@pytest.fixture
def station(tmp_path, monkeypatch) -> Path:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    path = tmp_path / "left.toml"
    path.write_text('driver = "twin"\nrobot = "so101"\n')
    return path


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["--confirm-motion"], 1, "has not been checked: enpire station check"),
        ([], 2, "arms move with --confirm-motion"),
        (["--dry-run", "--confirm-motion"], 2, "arms move with --confirm-motion"),
        (["--dry-run", "--robots", "2"], 2, "--robots 2 and 1 station files"),
        (["--dry-run", "--reset", "fast"], 2, "their resets are physical"),
        (["--dry-run", "--pace", "real"], 2, "their time is real"),
        (["--dry-run", "--verify", "cameras"], 2, "need `cameras` in it"),
        (["--confirm-motion", "--verify", "cameras"], 1, "has not been checked"),
        (["--dry-run", "--cluster", "auto"], 2, "no --cluster"),
    ],
)
def test_a_loop_on_arms_says_what_is_missing(station, tmp_path, capsys, words, code, said) -> None:
    run = str(tmp_path / "run")
    asked = ["loop", "--task", "pick_cube", "--run", run, "--station", str(station), *words]
    assert main(asked) == code
    assert said in capsys.readouterr().err
    assert not Path(run).exists()


def test_a_task_of_another_arm_and_a_station_given_twice_are_refused(station, capsys) -> None:
    at = ["--dry-run", "--station", str(station)]
    assert main(["loop", "--task", "zip_tie", *at]) == 2
    assert "left.toml has so101" in capsys.readouterr().err
    assert main(["loop", "--task", "pick_cube", *at, "--station", str(station)]) == 2
    assert "given twice" in capsys.readouterr().err


def test_flags_of_arms_without_arms_are_refused(capsys) -> None:
    assert main(["loop", "--task", "pick_cube", "--confirm-motion"]) == 2
    assert "--station FILE" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "--task NAME"),
        (["--task", "pick_cube", "--wire", "ros2"], "wire twin is for --wire local"),
        (["--task", "pick_cube", "--faults", "dely:3"], "did you mean delay"),
    ],
)
def test_a_simulated_station_says_what_it_cannot_be(station, capsys, words, said) -> None:
    assert main(["station", "sim", str(station), *words]) == 2
    assert said in capsys.readouterr().err


def test_an_arm_without_a_scene_has_no_simulated_station(station, capsys) -> None:
    station.write_text('driver = "mock"\nrobot = "so101"\n')
    assert main(["station", "sim", str(station), "--task", "pick_cube"]) == 2
    assert "mock meets no simulated station" in capsys.readouterr().err


def test_a_run_goes_on_where_it_was(tmp_path: Path) -> None:
    parser = Parser("enpire", "")
    add_cluster(parser)
    add_arms(parser)
    files = [tmp_path / "a.toml", tmp_path / "b.toml"]
    given = ["--station", str(files[0]), "--station", str(files[1]), "--confirm-motion"]
    assert backend_words(parser.parse_args(given)) == given
    assert backend_words(parser.parse_args(["--cluster", "auto"])) == ["--cluster", "auto"]
    assert backend_words(parser.parse_args([])) == []


@pytest.mark.parametrize("settings", [{"images": 64, "vary_looks": True}, {"world": "bench"}])
def test_what_is_for_twins_is_for_no_arms(settings: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="--vary-looks and --world are for twins"):
        HardwareBackend([tmp_path / "a.toml"], True, False).stations(
            Order("pick_cube", **settings), 1
        )
