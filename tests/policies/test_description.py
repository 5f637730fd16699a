"""What a policy's file says of its shape."""

from __future__ import annotations

import json

import pytest

from enpire.errors import PolicyError
from enpire.policies import ChunkSpec
from enpire.policies.description import described


def test_lists_become_tuples() -> None:
    spec = ChunkSpec("reach", 4, 2, hidden=(8, 16), levels=((1, -1.0),))
    assert described(ChunkSpec, spec.to_json(), "a policy") == spec


@pytest.mark.parametrize(
    "text",
    ["", "[]", "null", "3", '{"a": 1}', '{"task": ' + "[" * 5000 + "]" * 5000 + "}", "[" * 100_000],
    ids=["empty", "a list", "nothing", "a number", "other names", "deep", "deeper"],
)
def test_what_describes_no_policy_is_refused(text: str) -> None:
    with pytest.raises(PolicyError, match="not a policy's description"):
        described(ChunkSpec, text, "a policy")


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"hidden": 5}, "hidden is no list"),
        ({"hidden": None}, "hidden is no list"),
        ({"hidden": "abc"}, "hidden is no list"),
        ({}, "hidden is missing"),
    ],
)
def test_the_widths_of_layers_are_said(values: dict[str, object], words: str) -> None:
    text = json.dumps({"task": "reach", "observation": 4, "action": 2, **values})
    with pytest.raises(PolicyError, match=words):
        ChunkSpec.from_json(text)
