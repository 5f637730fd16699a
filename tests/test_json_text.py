"""JSON of others."""

from __future__ import annotations

import pytest

from enpire.json_text import frozen, parsed


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
    with pytest.raises(ValueError, match=words):
        parsed(text)


def test_lists_become_tuples() -> None:
    assert frozen({"a": [1, [2]], "b": {"c": []}}) == {"a": (1, (2,)), "b": {"c": ()}}


def test_what_can_be_parsed_and_is_too_deep_all_the_same_is_a_value_error() -> None:
    deep: list[object] = []
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(ValueError, match="nested too deep"):
        frozen(deep)
