"""Each example runs: with small budgets in CI, and as it stands in the nightly lane."""

from __future__ import annotations

import os
import re
import runpy
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import enpire

EXAMPLES = Path(__file__).parents[2] / "examples"
SCRIPTS = sorted(EXAMPLES.glob("[0-9][0-9]_*.py"))
FROM_A_RUN = ("02", "03")  # they read what 01 has recorded
SMALL: dict[str, Any] = {
    "robots": 2,
    "demonstrations": 3,
    "start_episodes": 4,
    "collect": 4,
    "max_pairs": 2,
    "recipe_settings": {"steps": 10},
    "first_recipe_settings": {"training": {"steps": 10}},
    "progress": False,
}


def _improve(improve: Any, *positional: Any, **given: Any) -> enpire.Improvement:
    result: enpire.Improvement = improve(*positional, **{"recipe": "bc"} | given | SMALL)
    return result


def _evaluate(evaluate: Any, *positional: Any, **given: Any) -> enpire.Evaluation:
    measured: enpire.Evaluation = evaluate(*positional, **given | {"episodes": 2})
    return measured


def _run_small(script: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    monkeypatch.setenv("MPLBACKEND", "agg")
    monkeypatch.setattr(sys, "argv", [str(script)])
    monkeypatch.setattr(enpire, "improve", partial(_improve, enpire.improve))
    monkeypatch.setattr(enpire, "evaluate", partial(_evaluate, enpire.evaluate))
    runpy.run_path(str(script), run_name="__main__")


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which the first example has run."""
    folder = tmp_path_factory.mktemp("hello")
    with pytest.MonkeyPatch.context() as patched:
        _run_small(SCRIPTS[0], folder, patched)
    return folder


def test_examples_are_numbered_and_in_the_table() -> None:
    numbers = [int(script.name[:2]) for script in SCRIPTS]
    assert numbers == list(range(1, len(SCRIPTS) + 1))
    assert len(numbers) >= 7
    table = re.findall(r"^\| \[(\w+\.py)\]\((\S+)\)", (EXAMPLES / "README.md").read_text(), re.M)
    assert table == [(script.name, script.name) for script in SCRIPTS]


@pytest.mark.medium
def test_the_first_example_records_a_run(recorded: Path) -> None:
    (run,) = (recorded / "runs").iterdir()
    found = enpire.Run(run)
    assert (found.task, len(found.rounds), found.damage) == ("pick_cube", 1, ())


@pytest.mark.medium
@pytest.mark.parametrize("script", SCRIPTS[1:], ids=lambda script: script.stem)
def test_an_example_runs_with_a_small_budget(
    script: Path,
    recorded: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    reads = script.name.startswith(FROM_A_RUN)
    _run_small(script, recorded if reads else tmp_path, monkeypatch)
    assert capsys.readouterr().out.strip(), "an example shows something"


@pytest.mark.parametrize("script", SCRIPTS[1:3], ids=lambda script: script.stem)
def test_what_reads_a_run_says_so_where_there_is_none(
    script: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(SystemExit, match="begin with 01_hello_loop"):
        _run_small(script, tmp_path, monkeypatch)


@pytest.mark.slow  # with small budgets: test_an_example_runs_with_a_small_budget
@pytest.mark.timeout(3600)
def test_examples_run_one_after_the_other_as_they_stand(tmp_path: Path) -> None:
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path), "MPLBACKEND": "agg"}
    for script in SCRIPTS:
        command = [sys.executable, str(script)]
        done = subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, text=True
        )
        assert done.returncode == 0, f"{script.name}: {done.stderr}"
    assert (tmp_path / "success.png").is_file()
    names = sorted(folder.name.split("-")[1] for folder in (tmp_path / "runs").iterdir())
    assert names == ["pick_cube", "pick_cube", "reach"]
