"""Packs are found in one order, named when they are not, and sealed by their content."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from enpire.errors import PackError, UsageError
from enpire.packs import available, content_hash, find
from enpire.packs.finder import shipped, with_start


def pack(root: Path, name: str, text: str = "") -> Path:
    folder = root / "tasks" / name
    folder.mkdir(parents=True)
    (folder / "task.py").write_text(text)
    return folder


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working folder, and no ENPIRE_PACKS."""
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.delenv("ENPIRE_PACKS", raising=False)
    return folder


def test_built_in_packs_are_found_from_anywhere(here: Path) -> None:
    assert {"zip_tie", "pick_cube"} <= set(available("tasks"))
    assert find("tasks", "zip_tie").name == "zip_tie"


def test_search_order(here: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    built_in = find("tasks", "zip_tie").folder
    roots = [tmp_path / "one", tmp_path / "two"]
    for root in roots:
        root.mkdir()
    monkeypatch.setenv("ENPIRE_PACKS", os.pathsep.join(map(str, roots)))
    assert find("tasks", "zip_tie").folder == built_in
    for root in (roots[1], roots[0], here):
        latest = pack(root, "zip_tie")
        assert find("tasks", "zip_tie").folder == latest
    elsewhere = pack(tmp_path / "elsewhere", "zip_tie")
    assert find("tasks", str(elsewhere)).folder == elsewhere
    assert available("tasks").count("zip_tie") == 1


def test_a_relative_path(here: Path) -> None:
    folder = pack(here, "mine")
    assert find("tasks", "./tasks/mine").folder == folder
    assert find("tasks", "./tasks/mine").name == "mine"


def test_a_task_that_begins_at_its_start(here: Path) -> None:
    folder = pack(here, "mine")
    with pytest.raises(UsageError, match=r"one start only, .*from_start\.py have two: .*pin_"):
        find("tasks", "mine@start")
    (folder / "from_start.py").touch()
    whole = find("tasks", "mine@start")
    assert (whole.name, whole.folder) == ("mine@start", folder)
    assert whole.sha256 == find("tasks", "mine").sha256
    assert find("tasks", "./tasks/mine@start") == whole
    assert "mine" in with_start()


def test_a_task_whose_policies_set_joints(here: Path) -> None:
    folder = pack(here, "mine")
    joints = find("tasks", "mine@joints")
    assert (joints.name, joints.folder) == ("mine@joints", folder)
    assert joints.sha256 == find("tasks", "mine").sha256
    with pytest.raises(UsageError, match="one start only"):
        find("tasks", "mine@start@joints")
    (folder / "from_start.py").touch()
    assert find("tasks", "mine@start@joints").name == "mine@start@joints"


def test_a_folder_without_its_marker_is_no_pack(here: Path) -> None:
    (here / "tasks" / "zip_tie").mkdir(parents=True)
    assert find("tasks", "zip_tie").folder != here / "tasks" / "zip_tie"
    with pytest.raises(PackError, match=r"no task pack: it has no task\.py"):
        find("tasks", "./tasks/zip_tie")


@pytest.mark.parametrize(
    ("kind", "name", "words"),
    [
        ("tasks", "ziptie", ["unknown task 'ziptie'", "did you mean zip_tie?"]),
        ("robots", "so100", ["unknown robot 'so100'", "so101"]),
        ("sim", "qqqqqq", ["unknown world 'qqqqqq'", "there are: ", "bench"]),
    ],
)
def test_an_unknown_name_is_told_with_the_nearest(
    here: Path, kind: str, name: str, words: list[str]
) -> None:
    with pytest.raises(UsageError) as error:
        find(kind, name)
    assert all(word in str(error.value) for word in words), str(error.value)


@settings(max_examples=50)
@given(data=st.binary(min_size=1, max_size=60), at=st.integers(0, 59), bit=st.integers(0, 7))
def test_any_bit_changes_the_hash(
    data: bytes, at: int, bit: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("pack")
    (folder / "a.xml").write_bytes(data)
    before = content_hash(folder)
    changed = bytearray(data)
    changed[at % len(data)] ^= 1 << bit
    (folder / "a.xml").write_bytes(changed)
    assert content_hash(folder) != before
    (folder / "a.xml").write_bytes(data)
    assert content_hash(folder) == before


def test_names_and_places_of_files_are_in_the_hash(tmp_path: Path) -> None:
    def sealed(files: dict[str, bytes]) -> str:
        folder = tmp_path / str(len(list(tmp_path.iterdir())))
        for name, data in files.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(data)
        return content_hash(folder)

    layouts = [
        {"a": b"xy", "b": b""},
        {"a": b"x", "b": b"y"},
        {"a": b"", "b": b"xy"},
        {"b": b"xy", "c": b""},
        {"d/a": b"xy", "b": b""},
        {"a": b"xy"},
        {"d/a": b"xy"},
    ]
    assert len({sealed(layout) for layout in layouts}) == len(layouts)
    assert sealed(layouts[0]) == sealed(dict(reversed(layouts[0].items())))


def test_what_decides_nothing_is_not_in_the_hash(tmp_path: Path) -> None:
    folder = pack(tmp_path, "mine")
    before = content_hash(folder)
    for name in (
        "__pycache__/task.cpython-312.pyc",
        ".git/HEAD",
        ".hidden",
        "drivers.toml",
        "menagerie.toml",
        "sub/.swp",
        "README.md",
    ):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("noise")
    assert content_hash(folder) == before
    (folder / "sub" / "seen").write_text("")
    assert content_hash(folder) != before


def test_of_a_draft_everything_is_in_the_hash(tmp_path: Path) -> None:
    folder = pack(tmp_path, "mine")
    (folder / "drafted.toml").write_text("")
    hashes = [content_hash(folder)]
    for name in ("__pycache__/task.cpython-312.pyc", ".hidden", "README.md", "loop.toml"):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text("noise")
        hashes.append(content_hash(folder))
    assert len(set(hashes)) == len(hashes)
    for name in ("certificate.json", "signature.json"):
        (folder / name).write_text("noise")
    assert content_hash(folder) == hashes[-1]


def test_what_came_with_the_harness_is_found_whatever_lies_here(here: Path) -> None:
    (here / "agents" / "literature").mkdir(parents=True)
    assert (shipped("agents", "literature") / "act.md").is_file()
    with pytest.raises(PackError, match="agents/nobody is missing: install enpire anew"):
        shipped("agents", "nobody")
