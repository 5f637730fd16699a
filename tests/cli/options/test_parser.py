"""Options that several commands share."""

from __future__ import annotations

from argparse import ArgumentTypeError

import pytest

from enpire.cli.options.parser import Parser, add_start, task_asked
from enpire.errors import UsageError
from enpire.option_values import CHUNK, of_a_chunk
from enpire.policies import ChunkSpec


def asked(*arguments: str, default: str = "") -> str:
    parser = Parser("enpire x", "")
    parser.add_argument("--task")
    add_start(parser)
    return task_asked(parser.parse_args(arguments), default)


def test_where_a_task_begins() -> None:
    assert asked("--task", "pin_box") == "pin_box"
    assert asked("--task", "pin_box", "--begin", "start") == "pin_box@start"
    assert asked("--task", "pin_box@start", "--begin", "start") == "pin_box@start"
    assert asked("--task", "pin_box@start", "--begin", "phase") == "pin_box"
    assert asked("--begin", "start", default="of_a_run") == "of_a_run@start"
    assert asked(default="of_a_run@start") == "of_a_run@start"
    assert asked("--task", "pin_box@joints", "--begin", "start") == "pin_box@start@joints"
    assert asked("--task", "pin_box@start@joints", "--begin", "phase") == "pin_box@joints"
    with pytest.raises(UsageError, match="start"):
        asked("--begin", "end")


def test_a_home_in_quotes_is_expanded_and_a_variable_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HOME", "/h")
    assert asked("--task", "~/x") == asked("--task=~/x") == "/h/x"
    assert asked("--task", "a~b") == "a~b"
    assert asked("--task", "~nobody-of-this-name/x") == "~nobody-of-this-name/x"
    for wrong in ("$HOME/x", "${HOME}/x", "$HOME"):
        with pytest.raises(UsageError, match="shell's variable"):
            asked("--task", wrong)


def test_as_much_is_carried_out_as_a_chunk_has() -> None:
    assert ChunkSpec("t", 1, 1).chunk == CHUNK
    assert [of_a_chunk(text) for text in ("1", str(CHUNK))] == [1, CHUNK]
    for wrong in ("0", str(CHUNK + 1)):
        with pytest.raises(ArgumentTypeError):
            of_a_chunk(wrong)
