"""Calls that are wrong are answered with what to do, and results have a bound."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from enpire.agent_loop.conversation import ToolCall
from enpire.agent_loop.toolbox import bounded

from .few import Few, box


@pytest.mark.parametrize(
    ("name", "arguments", "words"),
    [
        ("drain", "{}", "there is no tool 'drain'; there are: train, status, read_file"),
        ("train", '{"why": "a', "no JSON object: write it again.*it began: {"),
        ("train", "[1]", "no JSON object"),
        ("train", "{}", "why is missing. Arguments: why. Call it again"),
        ("train", '{"why": "a", "x": 1}', "'x' is none of its arguments"),
        ("train", '{"why": 3}', "why must be of type string"),
    ],
)
def test_a_call_that_is_wrong_says_what_to_do(
    tmp_path: Path, name: str, arguments: str, words: str
) -> None:
    few = Few()
    result = box(few, tmp_path).call(ToolCall("c", name, arguments))
    assert result.wrong
    assert re.search(words, result.text)
    assert not few.called


def test_a_long_result_keeps_its_ends(tmp_path: Path) -> None:
    result = box(Few("a" * 500 + "b" * 500), tmp_path, 100).call(ToolCall("c", "status", "{}"))
    assert result.text == bounded("a" * 500 + "b" * 500, 100)
    assert result.text.startswith("a" * 50 + "\n[... 900")
    assert result.text.endswith("b" * 50)


def test_without_arguments_is_as_good_as_none(tmp_path: Path) -> None:
    assert not box(Few(), tmp_path).call(ToolCall("c", "status", "")).wrong
