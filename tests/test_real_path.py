"""Where a path that somebody named leads; `enpire.real_path`."""

from __future__ import annotations

from pathlib import Path

import pytest

from enpire.real_path import real_path


def test_links_are_followed_and_what_is_not_there_is_named(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "folder")
    assert real_path(tmp_path / "link" / ".." / "x") == tmp_path / "x"
    assert real_path(str(tmp_path / "link" / "y")) == tmp_path / "folder" / "y"


def test_a_link_to_itself_is_left_for_whoever_opens_it(tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(link)
    with pytest.raises(RuntimeError):
        link.resolve()
    with pytest.raises(OSError, match="symbolic links") as told:
        real_path(link).open()
    assert told.value.filename == str(link)
