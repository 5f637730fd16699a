"""JSON of others."""

from __future__ import annotations

import pytest

from enpire.json_text import parsed


def test_values() -> None:
    assert parsed('{"a": [1, null, "é"]}') == {"a": [1, None, "é"]}
    assert parsed(b"[1.5]") == [1.5]


@pytest.mark.parametrize(
    "text",
    ["", "{", "not json", b"\xff\xfe\x00", "[" * 100_000 + "]" * 100_000, '{"a":' * 100_000],
    ids=["empty", "unclosed", "words", "no UTF-8", "deep list", "deep object"],
)
def test_all_that_is_wrong_is_a_value_error(text: str | bytes) -> None:
    with pytest.raises(ValueError):
        parsed(text)
