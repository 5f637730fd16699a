"""Options that several commands share."""

from __future__ import annotations

import pytest

from enpire.commands.options import Parser, add_start, task_asked
from enpire.errors import UsageError


def asked(*arguments: str, default: str = "") -> str:
    parser = Parser("enpire x", "")
    parser.add_argument("--task")
    add_start(parser)
    return task_asked(parser.parse_args(arguments), default)


def test_where_a_task_begins() -> None:
    assert asked("--task", "pin_box") == "pin_box"
    assert asked("--task", "pin_box", "--from", "start") == "pin_box@start"
    assert asked("--task", "pin_box@start", "--from", "start") == "pin_box@start"
    assert asked("--task", "pin_box@start", "--from", "phase") == "pin_box"
    assert asked("--from", "start", default="of_a_run") == "of_a_run@start"
    assert asked(default="of_a_run@start") == "of_a_run@start"
    with pytest.raises(UsageError, match="start"):
        asked("--from", "end")
