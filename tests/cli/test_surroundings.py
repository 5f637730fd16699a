"""The command in surroundings as people have them; docs/inputs.md."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from enpire.cli import main

pytestmark = pytest.mark.medium

ROOT = Path(__file__).parents[2]
TOY = "gym:tests.environment.toy:toy/Line-v0"


def run(where: Path, *words: str, **variables: str | None) -> subprocess.CompletedProcess[str]:
    """`enpire WORDS` in a folder; a variable of None is not set."""
    environment = os.environ | {"PYTHONPATH": str(ROOT)} | variables
    return subprocess.run(
        [sys.executable, "-m", "enpire.cli", *words],
        cwd=where,
        env={name: value for name, value in environment.items() if value is not None},
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=120,
        stdin=subprocess.DEVNULL,
    )


@pytest.mark.parametrize(
    "variables",
    [
        {"HOME": None, "TERM": "dumb", "LC_ALL": "C"},
        {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
        {"COLUMNS": "1", "TERM": ""},
    ],
    ids=["no home", "no letters but ASCII's", "one column"],
)
def test_a_list_of_runs(tmp_path: Path, variables: dict[str, str | None]) -> None:
    said = run(tmp_path, "tasks", **variables)
    assert (said.returncode, said.stderr) == (0, "")
    assert "zip_tie" in said.stdout


@pytest.mark.parametrize(
    ("variables", "said"),
    [
        ({"MUJOCO_GL": "foo"}, "MUJOCO_GL is 'foo': set it to egl"),
        ({"ENPIRE_PACKS": "nowhere"}, "ENPIRE_PACKS has nowhere, which is no folder"),
    ],
)
def test_a_variable_that_is_wrong(variables: dict[str, str], said: str, tmp_path: Path) -> None:
    told = run(tmp_path, "eval", "--policy", "random", "--task", "pick_cube", **variables)
    assert told.returncode == 2
    assert said in told.stderr
    assert "Traceback" not in told.stderr


@pytest.mark.parametrize("name", ["random.py", "numpy.py"])
def test_a_file_that_is_called_as_a_module_of_pythons(name: str, tmp_path: Path) -> None:
    (tmp_path / name).touch()
    told = run(tmp_path, "eval", "--policy", "random", "--task", "pick_cube")
    assert told.returncode == 1
    assert f"{name} is loaded in place of the module of that name that Python has" in told.stderr
    assert "Traceback" not in told.stderr


def test_a_full_disk_behind_what_is_printed(tmp_path: Path) -> None:
    with Path("/dev/full").open("w") as full:
        told = subprocess.run(
            [sys.executable, "-m", "enpire.cli", "tasks"],
            cwd=tmp_path,
            env=os.environ | {"PYTHONPATH": str(ROOT)},
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=120,
        )
    assert told.returncode == 1
    assert told.stderr == ("enpire: standard output: No space left on device; write it elsewhere\n")


@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&-"])
def test_a_shell_that_has_closed_it(closed: str, tmp_path: Path) -> None:
    told = subprocess.run(
        ["sh", "-c", f"exec '{sys.executable}' -m enpire.cli show nothing {closed}"],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=120,
    )
    said = "" if closed == "2>&-" else "there is no run at nothing"
    assert (told.returncode, told.stdout) == (1, "")
    assert said in told.stderr
    assert "Traceback" not in told.stderr
    listed = subprocess.run(
        ["sh", "-c", f"exec '{sys.executable}' -m enpire.cli tasks {closed}"],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert (listed.returncode, listed.stderr) == (0, "")


def test_warnings_that_are_errors(tmp_path: Path) -> None:
    asked = ("eval", "--policy", "random", "--task", TOY, "--episodes", "2", "--robots", "1")
    said = run(tmp_path, *asked, PYTHONWARNINGS="error::ResourceWarning")
    assert (said.returncode, said.stderr) == (0, "")


def test_a_run_with_spaces_and_accents_behind_a_link(tmp_path: Path) -> None:
    (tmp_path / "with space").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "with space")
    folder = "link/a é 手 1"
    asked = ("eval", "--policy", "random", "--task", TOY, "--episodes", "2", "--robots", "1")
    said = run(tmp_path, *asked, "--run", folder, LC_ALL="C", HOME=None, TERM="dumb")
    assert said.returncode == 0, said.stderr
    assert "Traceback" not in said.stderr
    assert run(tmp_path, "fsck", folder).returncode == 0
    narrow = run(tmp_path, "list", "link", LC_ALL="C", PYTHONUTF8="0", PYTHONCOERCECLOCALE="0")
    assert (narrow.returncode, narrow.stderr) == (0, "")


def test_a_name_that_is_no_text(tmp_path: Path) -> None:
    said = run(tmp_path, "show", os.fsdecode(b"\xff"))
    assert said.returncode == 2
    assert "is no UTF-8" in said.stderr


def test_a_folder_that_is_gone(tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    command = f"cd '{gone}' && rmdir '{gone}' && exec '{sys.executable}' -m enpire.cli tasks"
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    said = subprocess.run(
        ["sh", "-c", command], env=environment, capture_output=True, text=True, timeout=120
    )
    assert said.returncode == 2
    assert "is gone" in said.stderr
    assert "Traceback" not in said.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["show", "a" * 5000], "File name too long"),
        (["eval", "--policy", "random", "--task", "a" * 5000], "File name too long"),
        (["show", "loop"], "no run at loop"),
        (["fsck", "file"], "file"),
        (["eval", "--policy", "random", "--task", "./"], "is no task pack"),
    ],
)
def test_paths_that_lead_nowhere(
    words: list[str],
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    (tmp_path / "file").touch()
    assert main(words) in (1, 2)
    told = capsys.readouterr().err
    assert said in told
    assert len(told) < 400
