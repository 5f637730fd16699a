"""A certificate counts for the packs that it names, and is told to be old once one has changed."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import mujoco
import pytest

from enpire.cli import main
from enpire.packs import certificates, find
from enpire.packs.certificates import CODE, certificate_state, environment_code
from enpire.version import __version__


@pytest.fixture
def task(tmp_path: Path) -> Path:
    """A copy of a task, certified as it is, beside nothing else."""
    folder = tmp_path / "tasks" / "pick_cube"
    shutil.copytree(find("tasks", "pick_cube").folder, folder)
    packs = {
        "tasks/pick_cube": find("tasks", str(folder)).sha256,
        "robots/so101": find("robots", "so101").sha256,
        "sim/bench": find("sim", "bench").sha256,
    }
    versions = {"enpire": __version__, "mujoco": mujoco.__version__, "scipy": "0.1"}
    (folder / "certificate.json").write_text(json.dumps({"packs": packs, "versions": versions}))
    return folder


def test_a_certificate_of_these_packs_counts(task: Path) -> None:
    assert certificate_state(task) == "certified"


def test_a_changed_task_and_a_robot_that_is_gone_make_it_old(task: Path) -> None:
    file = task / "certificate.json"
    content = json.loads(file.read_text())
    content["packs"]["robots/gone"] = content["packs"].pop("robots/so101")
    file.write_text(json.dumps(content))
    with (task / "task.py").open("a") as code:
        code.write("# changed\n")
    expected = "certificate is old: tasks/pick_cube, robots/gone changed since"
    assert certificate_state(task) == expected


def test_other_physics_and_another_enpire_are_told(task: Path) -> None:
    file = task / "certificate.json"
    content = json.loads(file.read_text())
    content["versions"]["mujoco"] = "3.3.0"
    file.write_text(json.dumps(content))
    assert certificate_state(task) == "certified, but with mujoco 3.3.0"
    content["versions"]["enpire"] = "0.0.9"
    file.write_text(json.dumps(content))
    assert certificate_state(task) == "certified, but with enpire 0.0.9 and mujoco 3.3.0"


def test_other_code_that_verifies_is_told(task: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = task / "certificate.json"
    content = json.loads(file.read_text())
    content["versions"][CODE] = environment_code()
    file.write_text(json.dumps(content))
    assert certificate_state(task) == "certified"
    monkeypatch.setattr(certificates, "environment_code", lambda: "of another day")
    assert certificate_state(task).startswith("certified, but with other code that resets and ver")


def test_code_is_another_once_a_file_of_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for folder in certificates.FOLDERS:
        (tmp_path / folder).mkdir()
    file = tmp_path / "environment" / "verify.py"
    monkeypatch.setattr(certificates, "__file__", str(tmp_path / "packs" / "certificates.py"))
    found = set()
    for text in ("", "deep = 15.0", "deep = 14.9"):
        file.write_text(text)
        found.add(environment_code.__wrapped__())
    assert len(found) == 3


def test_no_certificate_and_a_broken_one_are_told_apart(task: Path) -> None:
    file = task / "certificate.json"
    file.write_text("[]")
    assert certificate_state(task).startswith(f"{file} is no certificate")
    file.unlink()
    assert certificate_state(task) == "not certified"


def test_the_list_of_tasks_says_which_are_certified(
    task: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(task.parent.parent)
    assert main(["tasks"]) == 0
    (line,) = [li for li in capsys.readouterr().out.splitlines() if li.startswith("pick_cube ")]
    assert line.endswith("(certified)")


def test_what_no_pack_passes_through_is_not_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for path in certificates.BESIDE:
        assert (Path(certificates.__file__).parents[1] / path).exists()
    (tmp_path / "environment" / "gym_bridge").mkdir(parents=True)
    (tmp_path / "environment" / "verify.py").write_text("")
    monkeypatch.setattr(certificates, "__file__", str(tmp_path / "packs" / "certificates.py"))
    before = environment_code.__wrapped__()
    (tmp_path / "environment" / "gym_bridge" / "worker.py").write_text("")
    assert environment_code.__wrapped__() == before
