"""A policy's file says of which kind it is, and is read back as one of that kind."""

from __future__ import annotations

from contextlib import nullcontext

import numpy as np
import pytest

from enpire.errors import PolicyError, RecipeError
from enpire.improvement.recipe_finding import find
from enpire.policies import ChunkPolicy, ChunkSpec, FlowPolicy, FlowSpec, load, metadata

SPEC = ChunkSpec("t", observation=5, action=3, chunk=4, execute=2, hidden=(16,))


def test_a_policy_is_read_back_as_its_own_kind() -> None:
    policy = ChunkPolicy(SPEC).eval()
    copy = load(metadata(policy), policy.tensors())
    assert isinstance(copy, ChunkPolicy)
    assert copy.spec == SPEC
    for name, values in policy.tensors().items():
        np.testing.assert_array_equal(copy.tensors()[name], values)


def test_a_file_without_a_kind_is_a_chunk_policy() -> None:
    policy = ChunkPolicy(SPEC).eval()
    assert isinstance(load({"spec": SPEC.to_json()}, policy.tensors()), ChunkPolicy)


@pytest.mark.parametrize(
    ("said", "words"),
    [
        (
            {"kind": "oracle", "spec": "{}"},
            "'oracle'; this version knows: chunk, flow, picture, estimated",
        ),
        ({}, "shape"),
    ],
)
def test_a_file_that_cannot_be_read(said: dict[str, str], words: str) -> None:
    with pytest.raises(PolicyError, match=words):
        load(said, {})


@pytest.mark.parametrize(
    ("recipe", "improves"),
    [
        ("rlpd", "chunk"),
        ("best_of_n", "chunk flow"),
        ("residual_rl", "chunk flow"),
        ("specialist", "chunk flow"),
        ("dsrl", "chunk flow estimated"),
        ("replay_bc", "chunk flow estimated"),
        ("finetune", ""),
        ("dagger", ""),
    ],
)
def test_a_recipe_refuses_kinds_that_it_does_not_improve(recipe: str, improves: str) -> None:
    chunk, flow = ChunkPolicy(SPEC).eval(), FlowPolicy(FlowSpec.of(SPEC)).eval()
    for policy in chunk, flow:
        refused = nullcontext()
        if policy.kind not in improves.split():
            refused = pytest.raises(RecipeError, match=f"^{recipe} ")
        with refused:
            find(recipe).require_policy(policy)
