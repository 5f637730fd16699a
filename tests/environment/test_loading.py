"""A user's task pack runs like a built-in one, and its faults are told by file and line."""

from __future__ import annotations

import importlib.util
import py_compile
from pathlib import Path

import pytest

from enpire.environment import ResetMode, build_stations, load_task
from enpire.errors import PackError, UsageError
from enpire.packs import find

GOOD = (Path(__file__).parent / "reach.py").read_text()
GOOD = GOOD[: GOOD.index("class Speed")].replace("    Controller,\n", "")
GOOD += "\n\ndef _gap(r):\n    return r.position[:, 0, 0] - r.hand_position[:, 0, 0]\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty `tasks/mine`, found as a user's own would be."""
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "tasks" / "mine"
    folder.mkdir(parents=True)
    return folder


WHOLE = """
from .task import Reach

class Whole(Reach):
    time_limit = 7.0
"""


def test_the_same_task_from_its_start(folder: Path) -> None:
    (folder / "task.py").write_text(GOOD)
    (folder / "from_start.py").write_text(WHOLE)
    phase, whole = (build_stations(name, 1) for name in ("mine", "mine@start"))
    assert (phase.name, whole.name) == ("mine", "mine@start")
    assert phase.task.time_limit != whole.task.time_limit == 7.0
    assert isinstance(whole.task, type(phase.task))
    assert whole.packs.keys() - phase.packs.keys() == {"tasks/mine@start"}  # no certificate's
    (folder / "from_start.py").write_text(WHOLE.replace("7.0", "x"))
    with pytest.raises(PackError, match=r"from_start\.py:5: NameError"):
        load_task(find("tasks", "mine@start"))


def load(folder: Path, text: str) -> str:
    """What is wrong with a pack whose `task.py` is `text`."""
    (folder / "task.py").write_text(text)
    with pytest.raises(PackError) as error:
        load_task(find("tasks", "mine"))
    return str(error.value)


def line_of(text: str, what: str) -> int:
    return text[: text.index(what)].count("\n") + 1


def test_a_users_own_task_runs(folder: Path) -> None:
    (folder / "task.py").write_text(GOOD)
    stations = build_stations("mine", 2, 1)
    assert stations.task.folder == folder
    assert set(stations.packs) == {"tasks/mine", "robots/so101", "sim/bench"}
    assert stations.packs["tasks/mine"] == find("tasks", "mine").sha256


def test_a_task_without_skills_is_not_put_back(folder: Path) -> None:
    (folder / "task.py").write_text(GOOD)
    with pytest.raises(UsageError, match=r"mine has no skills for a physical reset; .*pick_cube"):
        build_stations("mine", 1, reset=ResetMode.PHYSICAL)


def test_modules_of_a_pack_import_one_another(folder: Path) -> None:
    (folder / "sizes.py").write_text("STEP = 0.005\n")
    text = GOOD.replace("STEP = 0.008  # of a full action [m]\n", "from .sizes import STEP\n")
    (folder / "task.py").write_text(text)
    task = load_task(find("tasks", "mine"))
    assert task.actions.scale[0, 0] == 0.005
    (folder / "sizes.py").write_text("STEP = 0.006\n")
    assert load_task(find("tasks", "mine")).actions.scale[0, 0] == 0.006


def plant(path: Path, text: str, at: str) -> None:
    """Bytecode of another text, that Python takes without looking at the source."""
    evil = path.with_name("evil.txt")
    evil.write_text(text)
    how = py_compile.PycInvalidationMode.UNCHECKED_HASH
    py_compile.compile(str(evil), at, str(path), doraise=True, invalidation_mode=how)
    evil.unlink()


def test_planted_bytecode_is_not_run(folder: Path) -> None:
    (folder / "sizes.py").write_text("STEP = 0.005\n")
    text = GOOD.replace("STEP = 0.008  # of a full action [m]\n", "from .sizes import STEP\n")
    (folder / "task.py").write_text(text)
    for name in ("task.py", "sizes.py"):
        cached = importlib.util.cache_from_source(str(folder / name))
        plant(folder / name, "raise SystemExit('planted')", cached)
    assert load_task(find("tasks", "mine")).actions.scale[0, 0] == 0.005


def test_bytecode_without_a_source_is_not_found(folder: Path) -> None:
    plant(folder / "sizes.py", "STEP = 0.005", str(folder / "sizes.pyc"))
    text = GOOD.replace("STEP = 0.008  # of a full action [m]\n", "from .sizes import STEP\n")
    assert "the pack has no sizes.py" in load(folder, text)


def test_nothing_compiled_is_left_in_a_pack(folder: Path) -> None:
    (folder / "sizes.py").write_text("")
    (folder / "task.py").write_text(GOOD + "\nfrom . import sizes\n")
    load_task(find("tasks", "mine"))
    assert sorted(path.name for path in folder.iterdir()) == ["sizes.py", "task.py"]


def test_a_draft_is_not_run_until_somebody_answers_for_it(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "drafted.toml").write_text("")
    ran = folder / "ran"
    message = load(folder, f"open({str(ran)!r}, 'w')\n")
    assert "enpire task sign mine" in message
    assert not ran.exists()
    monkeypatch.setenv("ENPIRE_UNSIGNED", "1")
    assert "one subclass" in load(folder, f"open({str(ran)!r}, 'w')\n")
    assert ran.exists()


def test_a_syntax_error(folder: Path) -> None:
    text = GOOD + "\nclass Broken(:\n"
    message = load(folder, text)
    assert f"{folder / 'task.py'}:{line_of(text, 'class Broken')}:" in message
    assert "SyntaxError" in message


def test_an_error_while_importing(folder: Path) -> None:
    text = GOOD + "\nWRONG = 1 / 0\n"
    message = load(folder, text)
    assert f"{folder / 'task.py'}:{line_of(text, 'WRONG')}: ZeroDivisionError" in message
    assert load(folder, text) == message, "a second try meets the same error"


def test_an_error_in_another_module_of_the_pack(folder: Path) -> None:
    (folder / "helper.py").write_text("\n\nimport no_such_module_anywhere\n")
    message = load(folder, "from . import helper\n" + GOOD.replace("from __future__", "# "))
    assert f"{folder / 'helper.py'}:3: ModuleNotFoundError" in message


def test_a_missing_method(folder: Path) -> None:
    text = GOOD.replace("def verify(", "def verification(")
    message = load(folder, text)
    assert f"{folder / 'task.py'}:{line_of(text, 'class Reach')}:" in message
    assert "Reach lacks verify" in message


def test_a_missing_attribute(folder: Path) -> None:
    message = load(folder, GOOD.replace("    time_limit = 0.52\n", ""))
    assert "Reach lacks time_limit" in message


def test_two_tasks(folder: Path) -> None:
    message = load(folder, GOOD + "\n\nclass Other(Reach):\n    pass\n")
    assert str(folder / "task.py") in message
    assert "2 found" in message


def test_no_task(folder: Path) -> None:
    assert "0 found" in load(folder, "from enpire.environment import Task\n")


def test_a_scene_that_does_not_compile(folder: Path) -> None:
    text = GOOD.replace("mass=0.01", "mass=-1")
    (folder / "task.py").write_text(text)
    with pytest.raises(PackError, match="so101 in bench does not compile"):
        build_stations("mine", 1, 1)


def test_a_robot_that_is_not_there(folder: Path) -> None:
    (folder / "task.py").write_text(GOOD.replace('robot = "so101"', 'robot = "so1O1"'))
    with pytest.raises(UsageError, match="did you mean so101"):
        build_stations("mine", 1, 1)


def test_no_stations() -> None:
    with pytest.raises(UsageError, match="at least 1"):
        build_stations("pick_cube", 0)
