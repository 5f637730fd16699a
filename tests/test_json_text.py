"""JSON of others."""

from __future__ import annotations

from pathlib import Path

import pytest

from enpire.json_text import frozen, loads, parsed


def test_values() -> None:
    assert parsed('{"a": [1, null, "é"]}') == {"a": [1, None, "é"]}
    assert parsed(b"[1.5]") == [1.5]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "Expecting value"),
        ("{", "Expecting property name"),
        ("not json", "Expecting value"),
        (b"\xff\xfe\x00", "decode"),
        ("[" * 100_000 + "]" * 100_000, "nested too deep"),
        ('{"a":' * 100_000, "nested too deep"),
    ],
    ids=["empty", "unclosed", "words", "no UTF-8", "deep list", "deep object"],
)
def test_all_that_is_wrong_is_a_value_error(text: str | bytes, words: str) -> None:
    for read in (parsed, loads):
        with pytest.raises(ValueError, match=words):
            read(text)


def test_lists_become_tuples() -> None:
    assert frozen({"a": [1, [2]], "b": {"c": []}}) == {"a": (1, (2,)), "b": {"c": ()}}


def test_what_can_be_parsed_and_is_too_deep_all_the_same_is_a_value_error() -> None:
    deep: list[object] = []
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(ValueError, match="nested too deep"):
        frozen(deep)


def test_of_two_entries_of_one_key_the_last_counts_where_that_is_allowed() -> None:
    assert loads('{"a": 1, "a": 2}') == {"a": 2}
    with pytest.raises(ValueError, match="there twice"):
        parsed('{"a": 1, "a": 2}')


def test_whoever_reads_json_is_told_of_depth_by_a_value_error() -> None:
    alone = {"agent_loop", "gym_worker"}  # these import nothing of the harness
    package = Path(__file__).parents[1] / "enpire"
    found = [
        path.relative_to(package).as_posix()
        for path in package.rglob("*.py")
        if "json.loads" in path.read_text()
        and path.name != "json_text.py"
        and path.parent.name not in alone
    ]
    assert found == [], "use enpire.json_text.loads, or parsed"
