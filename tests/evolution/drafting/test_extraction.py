"""What an agent has left in its workspace is taken as bytes, or not at all."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from enpire.evolution.drafting import extraction
from enpire.evolution.drafting.extraction import DraftError, digest, extract

HOSTILE = {  # name: part of the reason
    "certificate.json": "the harness writes it",
    "signature.json": "the harness writes it",
    "drafted.toml": "the harness writes it",
    "pictures/start.png": "the harness writes it",
    "conftest.py": "not part of a pack",
    "inner/conftest.py": "not part of a pack",
    "sitecustomize.py": "not part of a pack",
    "test_it.py": "not part of a pack",
    "__pycache__/task.cpython-312.pyc": "not part of a pack",
    "task.pyc": "files of a pack end in",
    "inner/evil.pth": "files of a pack end in",
    "fast.so": "files of a pack end in",
    "weights.pkl": "files of a pack end in",
    ".hidden.py": "hidden",
    "inner/.git/hooks/x.py": "hidden",
    "two words.py": "odd name",
    "a\nb.py": "odd name",
}


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    (tmp_path / "work" / "mine" / "inner").mkdir(parents=True)
    (tmp_path / "work" / "mine" / "task.py").write_text("task")
    (tmp_path / "work" / "mine" / "inner" / "mesh.stl").write_bytes(b"\0")
    return tmp_path / "work"


def test_plain_files_are_taken(workspace: Path) -> None:
    found = extract(workspace, "mine")
    assert found.files == {"task.py": b"task", "inner/mesh.stl": b"\0"}
    assert found.left == []


@pytest.mark.parametrize("name", HOSTILE)
def test_what_is_not_a_pack_s_is_left_behind(workspace: Path, name: str) -> None:
    path = workspace / "mine" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("{}")
    found = extract(workspace, "mine")
    assert set(found.files) == {"task.py", "inner/mesh.stl"}
    (why,) = found.left
    assert HOSTILE[name] in why
    assert "\n" not in why


def test_no_link_is_followed(workspace: Path, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.mkdir()
    (secret / "key.txt").write_text("secret")
    (workspace / "mine" / "key.txt").symlink_to(secret / "key.txt")
    (workspace / "mine" / "all").symlink_to(secret)
    found = extract(workspace, "mine")
    assert set(found.files) == {"task.py", "inner/mesh.stl"}
    assert found.left == ["all: a link", "key.txt: a link"]
    (workspace / "other").symlink_to(secret)
    with pytest.raises(DraftError, match="other is not in the workspace"):
        extract(workspace, "other")
    (workspace / "mine" / "task.py").unlink()
    (workspace / "mine" / "task.py").symlink_to(secret / "key.txt")
    with pytest.raises(DraftError, match=r"no task\.py"):
        extract(workspace, "mine")


def test_nothing_is_waited_for(workspace: Path) -> None:
    os.mkfifo(workspace / "mine" / "pipe.txt")
    assert "no plain file" in extract(workspace, "mine").left[0]


def test_too_much_is_refused(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extraction, "MOST_OF_ONE", 100)
    (workspace / "mine" / "large.txt").write_bytes(bytes(101))
    assert "more than" in extract(workspace, "mine").left[0]
    monkeypatch.setattr(extraction, "MOST_BYTES", 100)
    for i in range(2):
        (workspace / "mine" / f"part{i}.txt").write_bytes(bytes(60))
    with pytest.raises(DraftError, match="more than 200 files or"):
        extract(workspace, "mine")
    monkeypatch.setattr(extraction, "MOST_ENTRIES", 4)
    with pytest.raises(DraftError, match="more than 4 files and folders"):
        extract(workspace, "mine")


def test_folders_are_so_deep_at_most(workspace: Path) -> None:
    deep = workspace / "mine" / "a/b/c/d/e/f"
    deep.mkdir(parents=True)
    (deep / "x.txt").write_text("")
    assert "deep at most" in extract(workspace, "mine").left[0]


def test_a_digest_is_of_names_and_bytes() -> None:
    one = {"a": b"x", "b": b"y"}
    assert digest(one) == digest(dict(reversed(one.items())))
    others = [{"a": b"y", "b": b"x"}, {"a": b"x"}, {"ab": b"xy"}, {"a": b"xb\0", "y": b""}]
    assert len({digest(each) for each in [one, *others]}) == 5
