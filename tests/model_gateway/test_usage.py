"""Usage as three APIs word it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from enpire.model_gateway.usage import Meter, Usage

MESSAGES = {"input_tokens": 5, "cache_read_input_tokens": 100, "output_tokens": 2}
RESPONSES = {
    "input_tokens": 75,
    "input_tokens_details": {"cached_tokens": 32},
    "output_tokens": 12,
    "output_tokens_details": {"reasoning_tokens": 7},
    "total_tokens": 87,
}
GENERATE = {"promptTokenCount": 8, "candidatesTokenCount": 3, "totalTokenCount": 19}


@pytest.mark.parametrize(
    ("said", "tokens", "classes"),
    [
        ({"model": "m", "usage": MESSAGES}, 107, MESSAGES),
        (
            {"type": "response.completed", "response": {"model": "m", "usage": RESPONSES}},
            87,
            {"input_tokens": 75, "output_tokens_details.reasoning_tokens": 7},
        ),
        ({"modelVersion": "m", "usageMetadata": GENERATE}, 19, GENERATE),
    ],
)
def test_classes_are_kept_as_they_are_said(
    said: dict[str, Any], tokens: int, classes: dict[str, int]
) -> None:
    meter = Meter()
    meter.line(b"data: " + json.dumps(said).encode())
    assert classes.items() <= meter.classes.items()
    usage = Usage("a", "/p", meter.model, meter.classes, 200, True)
    assert (usage.model, usage.tokens) == ("m", tokens)


def test_later_counts_replace_earlier_ones() -> None:
    meter = Meter()
    meter.line(b'data: {"message": {"usage": {"input_tokens": 5, "output_tokens": 1}}}')
    meter.line(b'data: {"usage": {"output_tokens": 9}}')
    assert meter.classes == {"input_tokens": 5, "output_tokens": 9}


@pytest.mark.parametrize("said", [b"data: [DONE]", b"data: {", b": ping", b'data: {"usage": 3}'])
def test_what_says_nothing_counts_nothing(said: bytes) -> None:
    meter = Meter()
    meter.line(said)
    assert Usage("a", "/p", "", meter.classes, 200, True).tokens is None


def test_what_is_no_count_is_left_out() -> None:
    meter = Meter()
    meter.body(b'{"usage": {"a": -5, "b": true, "c": "6", "d": 1.5, "service_tier": "standard"}}')
    assert meter.classes == {}
