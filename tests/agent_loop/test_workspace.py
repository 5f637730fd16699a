"""Files and commands of a workspace."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from enpire.agent_loop import workspace
from enpire.agent_loop.conversation import ToolResult
from enpire.agent_loop.workspace import Workspace
from tests.processes import gone


def do(root: Path, name: str, **given: object) -> ToolResult:
    return Workspace(root).call("c", name, given)


def test_a_file_is_written_changed_and_read(tmp_path: Path) -> None:
    assert not do(tmp_path, "write_file", path="a/b.py", text="one\ntwo\n").wrong
    assert not do(tmp_path, "edit_file", path="a/b.py", old="two", new="three").wrong
    assert do(tmp_path, "read_file", path="a/b.py").text == "one\nthree\n"
    part = do(tmp_path, "read_file", path="a/b.py", first=2, lines=1).text
    assert part == "three\n\n[1 of 2 lines, from 2]"


@pytest.mark.parametrize("old", ["x", "one", ""])
def test_a_passage_that_is_not_there_once_is_not_changed(tmp_path: Path, old: str) -> None:
    (tmp_path / "a").write_text("one one")
    result = do(tmp_path, "edit_file", path="a", old=old, new="y")
    assert result.wrong
    assert "must be there once" in result.text
    assert (tmp_path / "a").read_text() == "one one"


def test_what_is_no_text_or_not_there_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"\xff\xfe")
    assert do(tmp_path, "read_file", path="a").wrong
    assert "No such file" in do(tmp_path, "read_file", path="b").text


def test_a_command_returns_its_output_and_how_it_ended(tmp_path: Path) -> None:
    text = do(tmp_path, "run_command", command="pwd; echo no >&2; exit 3").text
    assert text == f"{tmp_path}\nno\n\n[exit code 3]"


@pytest.mark.medium
def test_a_command_has_its_time_and_nothing_of_it_stays(tmp_path: Path) -> None:
    began = time.monotonic()
    text = do(tmp_path, "run_command", command="sleep 250 & echo $!; sleep 250", seconds=3).text
    assert "ended after 3 s" in text
    assert time.monotonic() - began < 200
    assert gone(int(text.split()[0]))
    text = do(tmp_path, "run_command", command="sleep 250 & echo $!").text
    assert time.monotonic() - began < 200
    assert gone(int(text.split()[0]))


def test_a_long_output_keeps_its_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workspace, "MOST", 100)
    text = do(tmp_path, "run_command", command="echo begin; seq 100000; echo end").text
    assert text.startswith("begin")
    assert text.endswith("end\n\n[exit code 0]")
    assert len(text) < 200
