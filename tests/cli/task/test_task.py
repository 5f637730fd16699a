"""`enpire task check` and `enpire new task`, as a person uses them."""

from __future__ import annotations

import json
import shutil
import tomllib
from pathlib import Path

import pytest

from enpire.cli import main
from enpire.cli.task.least_pack import without
from enpire.cli.task.task import NAMES
from enpire.packs import find

GOOD = (Path(__file__).parents[2] / "environment" / "reach.py").read_text()
GOOD = GOOD[: GOOD.index("class Speed")].replace("    Controller,\n", "")
GOOD += "\n\ndef _gap(r):\n    return r.position[:, 0, 0] - r.hand_position[:, 0, 0]\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty `tasks/mine`, found as a user's own would be."""
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "tasks" / "mine"
    folder.mkdir(parents=True)
    return folder


def test_the_checks_of_the_command_are_those_there_are() -> None:
    from enpire.certification.examination import CHECKS

    assert list(CHECKS) == NAMES


def test_a_table_in_lines_and_one_object(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "task.py").write_text(GOOD)
    asked = ["task", "check", "./tasks/mine", "--seeds", "3", "--json"]
    assert main([*asked, "--checks", "demonstrator,nothing"]) == 0
    *lines, last = capsys.readouterr().out.splitlines()
    assert [line.split(":")[0] for line in lines] == ["pass  demonstrator", "pass  nothing"]
    figures = json.loads(last)
    assert figures["passed"] is True
    assert [(row["k"], row["n"]) for row in figures["checks"]] == [(3, 3), (0, 3)]
    assert figures["certificate"] is None
    assert main([*asked, "--checks", "verifier"]) == 1
    *lines, last = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("FAIL  verifier agrees: nothing measured")
    assert json.loads(last)["passed"] is False


def test_an_error_in_a_packs_own_code_is_told_by_file_and_line(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = GOOD.replace("        gap = _gap(readings) / 0.05\n", "        gap = 1 / 0\n")
    (folder / "task.py").write_text(text)
    line = text[: text.index("1 / 0")].count("\n") + 1
    assert main(["task", "check", "mine", "--seeds", "1"]) == 1
    err = capsys.readouterr().err
    assert f"{folder / 'task.py'}:{line}: ZeroDivisionError" in err
    assert "Traceback" not in err


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (["task", "chek", "pick_cube"], ["'chek'", "check"]),
        (["task", "check", "pick_cub"], ["pick_cube"]),
        (["task", "check", "pick_cube", "--checks", "limit"], ["'limit'", "limits"]),
        (["task", "check", "pick_cube", "--seeds", "0"], ["--seeds", "at least 1"]),
        (["new", "tusk", "mine"], ["'tusk'", "task"]),
        (["new", "task", "Not-a-name"], ["usb_insert"]),
        (["new", "task", "mine", "--robot", "so100"], ["so101"]),
        (["new", "task", "mine"], ["there already"]),
    ],
)
def test_bad_usage(
    argv: list[str], words: list[str], folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(argv) == 2
    err = capsys.readouterr().err
    assert err.count("\n") == 1
    assert all(word in err for word in words), err


@pytest.mark.medium
@pytest.mark.parametrize(("robot", "name"), [("so101", "UsbInsert"), ("yam_bimanual", "UsbInsert")])
def test_a_new_task_runs_as_it_stands(
    robot: str, name: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["new", "task", "usb_insert", "--robot", robot]) == 0
    made = Path("tasks/usb_insert")
    text = (made / "task.py").read_text()
    assert "class UsbInsert(Task):" in text
    for method in (
        "sample",
        "set_initial_state",
        "observe",
        "looks_done",
        "verification_action",
        "verify",
        "ground_truth",
    ):
        assert text.count(f"    def {method}(") == 1
        before = text[: text.index(f"    def {method}(")].rstrip().rsplit("\n", 1)[1]
        assert before.startswith("    # YOURS: ")
    capsys.readouterr()
    assert main(["tasks"]) == 0
    assert "Usb insert: say here" in capsys.readouterr().out
    asked = ["task", "check", "./tasks/usb_insert", "--seeds", "3"]
    assert main([*asked, "--checks", "demonstrator,nothing"]) == 0
    assert "Made from" in (made / "README.md").read_text()


def test_a_robot_without_a_task_is_told_from_where_to_begin(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(find("robots", "ur5e").folder, "robots/mine")
    manifest = Path("robots/mine/robot.toml")
    manifest.write_text(manifest.read_text().replace('name = "ur5e"', 'name = "mine"'))
    assert main(["new", "task", "usb_insert", "--robot", "mine"]) == 2
    err = capsys.readouterr().err
    assert all(word in err for word in ("no task for mine", "so101 or ur5e", "change robot")), err
    assert not Path("tasks/usb_insert").exists()


@pytest.mark.parametrize("robot", ["so101", "fr3"])
def test_a_new_task_is_the_least_that_runs(
    robot: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """No skill script and no physical reset of another object, nor what only they import."""
    assert main(["new", "task", "usb_insert", "--robot", robot]) == 0
    made = Path("tasks/usb_insert")
    text = (made / "task.py").read_text()
    for gone in ("skill", "restorer", "target_names", "parameters", "Restorer", "Mapping"):
        assert gone not in text, gone
    there = {path.name for path in made.iterdir()}
    assert not there & {"skill.py", "restorer.py"}
    assert {"task.py", "scene.xml", "demonstrator.py", "verify.py", "truth.py"} <= there
    assert tomllib.loads((made / "loop.toml").read_text()) == {}
    said = (made / "README.md").read_text()
    assert all(f"`{name}`" in said for name in there - {"README.md", "geometry.py", "frames.py"})


def test_what_is_left_out_leaves_no_trace() -> None:
    text = """from a import (
    B,
    C,
)
from .d import E
import f


class G:
    names = B

    x = E  # goes

    def keep(self) -> C:
        return 1

    # said of it
    @f.cached
    def drop(self) -> None:
        pass
"""
    left = without(text, ("x", "drop"))
    assert "import E" not in left
    assert "import f" not in left
    assert "drop" not in left
    assert "said of it" not in left
    assert "from a import B, C" in left or "    C,\n" in left
    assert compile(left, "left", "exec")
