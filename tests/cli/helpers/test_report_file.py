"""`enpire report`, and the command that does a run again."""

from __future__ import annotations

import argparse
import shlex
from pathlib import Path
from typing import Any

import pytest

from enpire.cli import loop, main
from enpire.cli.helpers import report_file
from enpire.cli.options.parser import Parser
from enpire.errors import StoreError
from enpire.evolution.experiments.experiment_tree import experiment_tree
from enpire.rollout.loop.settings import LoopSettings
from enpire.session.loop_settings import RECIPE, SETTINGS
from enpire.store import Run
from tests.evolution.finished import finish
from tests.observe.report.ledgers import write_run


def _given(command: str) -> argparse.Namespace:
    program, verb, *rest = shlex.split(command)
    assert (program, verb) == ("enpire", "loop")
    parser = Parser("enpire loop", "")
    loop.add_options(parser)
    parsed: argparse.Namespace = parser.parse_args(rest)
    return parsed


def test_the_command_that_does_a_loop_again_asks_for_the_same() -> None:
    settings = LoopSettings.of(
        task="pick_cube",
        robots=2,
        seed=3,
        target=0.95,
        recipe="heuristic",
        max_pairs=0,
        vary_looks=True,
        images=64,
        pace="real",
        latency=0.3,
        recipe_settings={"good": "0.9"},
    )
    budget = {"max_time": 5400.0, "max_robot_hours": 0.7}
    command = report_file.command_of({"loop": settings.values(), "budget": budget})
    given = _given(command)
    for name, (read, default, _) in SETTINGS.items():
        value = getattr(given, name)
        assert (read(default) if value is None else value) == settings.values()[name], name
    assert (given.max_time, given.max_robot_hours) == (5400.0, 0.7)
    assert given.gathered[RECIPE] == {"good": "0.9"}
    assert "--target-bound" not in command, "defaults are left out"


def test_who_has_no_settings_has_no_command() -> None:
    assert report_file.command_of({}) == ""
    command = ["enpire", "campaign", "--task", "a b"]
    assert report_file.command_of({"campaign": {"command": command}}) == shlex.join(command)


def test_report_writes_a_page_where_it_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_run(tmp_path / "run").close()
    assert main(["report", str(tmp_path / "run"), "--no-frames"]) == 0
    path = tmp_path / "run" / "report.html"
    assert capsys.readouterr().out.strip() == str(path)
    assert "96.2% success" in path.read_text(encoding="utf-8")
    other = tmp_path / "new" / "page.html"
    assert main(["report", str(tmp_path / "run"), "--no-frames", "-o", str(other)]) == 0
    assert other.is_file()
    assert main(["report", str(tmp_path / "run"), "-o", "page.pdf"]) == 2
    assert "no HTML file" in capsys.readouterr().err


def test_a_report_that_cannot_be_written_spoils_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any, **__: Any) -> Path:
        raise StoreError("the disk is full")

    with write_run(tmp_path / "run") as run:
        assert report_file.report_line(run).startswith(f"report: {tmp_path}")
        monkeypatch.setattr(report_file, "write_report", fail)
        line = report_file.report_line(run)
    assert "not written (StoreError: the disk is full)" in line
    assert "enpire report" in line


def test_episodes_without_arrays_have_no_frames_and_a_reason(tmp_path: Path) -> None:
    with write_run(tmp_path / "run") as run:
        text = report_file.write_report(run).read_text(encoding="utf-8")
    assert "No frames: " in text


@pytest.mark.medium
def test_a_campaign_s_page_has_its_experiments(tmp_path: Path) -> None:
    finish(tmp_path / "run")
    with Run.open(tmp_path / "run") as run:
        tree = experiment_tree(run)
        text = report_file.write_report(run, frames=False).read_text(encoding="utf-8")
    kept = [node for node in tree.experiments if node.state == "kept"]
    assert kept
    assert all(node.effect is not None and node.pairs for node in kept)
    assert sum(cost.experiments for cost in tree.agents) == len(tree.experiments) >= 2
    for node in tree.experiments:
        assert f">{node.id}<" in text
    assert tree.head in text
