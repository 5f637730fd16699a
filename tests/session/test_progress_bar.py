"""Bars on a terminal, and nothing elsewhere."""

from __future__ import annotations

import io
import sys

import pytest

from enpire.session.progress_bar import counted, progress_bar


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_terminal_sees_how_far_it_is(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    stderr = _Terminal()
    monkeypatch.setattr(sys, "stderr", stderr)
    monkeypatch.setenv("TERM", "xterm")
    for part in counted([1, 2, 3], "episodes"):
        print("part", part)
    drawn = stderr.getvalue()
    assert "episodes" in drawn
    assert "3/3" in drawn
    assert capsys.readouterr().out == "part 1\npart 2\npart 3\n", "a pipe gets what was printed"


def test_elsewhere_nothing_is_drawn(capsys: pytest.CaptureFixture[str]) -> None:
    assert list(counted(iter("ab"), "parts")) == ["a", "b"]
    with progress_bar("something", 2) as advance:
        advance()
    assert capsys.readouterr().err == ""
