"""Targets learned as ways from where things are: the same way from elsewhere is the same chunk."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from enpire.environment import RelativeTarget
from enpire.errors import PolicyError
from enpire.policies import FlowPolicy, FlowSpec
from enpire.policies.relative import actions_of, read_relative, ways_of
from tests.policies.test_flow import policy

# two joints, of which actions say where they are to be in other units, and a gripper
TARGETS = RelativeTarget(done=0, seen=0, scale=0.5), RelativeTarget(done=1, seen=1, scale=2.0)
SPEC = FlowSpec(
    "t", observation=4, action=3, history=2, chunk=4, execute=2, hidden=(16, 16), relative=TARGETS
)


def histories(rows: int = 6) -> np.ndarray:
    return np.random.default_rng(1).standard_normal((rows, 2, 4)).astype(np.float32)


def drawn(rows: int = 6) -> np.ndarray:
    return np.random.default_rng(3).standard_normal((rows, 12)).astype(np.float32)


def test_ways_are_from_the_newest_moment_in_units_of_actions() -> None:
    history = torch.tensor([[[9.0, 9.0, 9.0, 9.0], [0.4, -0.1, 5.0, 5.0]]])
    actions = torch.zeros(1, 1, 3)
    np.testing.assert_allclose(ways_of(TARGETS, history, actions), [[[-0.2, 0.2, 0.0]]], atol=1e-7)
    assert not actions.any(), "they stay as they are"
    assert not ways_of((), history, actions).any()
    there = actions_of(TARGETS, history.numpy(), actions.numpy())
    np.testing.assert_allclose(there, [[[0.2, -0.2, 0.0]]], atol=1e-7)


def test_from_elsewhere_the_same_way_leads_elsewhere() -> None:
    made = policy(SPEC)
    made.std[:2] = 1e9  # it does not see where the joints are, but for its targets
    moved = histories() + np.array([0.2, -0.3, 0.0, 0.0], np.float32)
    before, after = made.inference()(histories(), drawn()), made.inference()(moved, drawn())
    np.testing.assert_allclose(after - before, [[[0.1, -0.6, 0.0]] * 4] * 6, atol=1e-5)


def test_in_units_is_the_inverse_of_actions() -> None:
    made, history = policy(SPEC), torch.from_numpy(histories())
    x = torch.from_numpy(drawn())
    there = made.in_units(made.actions(x, history), history)
    np.testing.assert_allclose(there.detach(), x, atol=1e-5)


@pytest.mark.parametrize("spec", [SPEC, replace(SPEC, pending=2), replace(SPEC, steering=(8,))])
def test_inference_is_the_forward_pass(spec: FlowSpec) -> None:
    made = policy(spec)
    with torch.no_grad():
        expected = made(torch.from_numpy(histories()), torch.from_numpy(drawn())).numpy()
    np.testing.assert_allclose(made.inference()(histories(), drawn()), expected, atol=2e-5)


def test_actions_that_are_pending_stay_as_they_are() -> None:
    left = np.random.default_rng(4).standard_normal((6, 2, 3)).astype(np.float32)
    chunks = policy(replace(SPEC, pending=3)).inference()(histories(), drawn(), left)
    np.testing.assert_allclose(chunks[:, :2], left, atol=1e-5)


def test_its_file_says_it() -> None:
    assert FlowSpec.from_json(SPEC.to_json()) == SPEC
    made = policy(SPEC)
    again = FlowPolicy.load(SPEC.to_json(), made.tensors())
    np.testing.assert_array_equal(
        made.inference()(histories(), drawn()), again.inference()(histories(), drawn())
    )


def test_a_file_of_an_earlier_version_has_none() -> None:
    said = SPEC.to_json().replace(', "relative": ' + SPEC.to_json().split('"relative": ')[1], "}")
    assert "relative" not in said
    assert FlowSpec.from_json(said).relative == ()


GOOD = {"done": 0, "seen": 3, "scale": 0.5}


@pytest.mark.parametrize(
    "wrong",
    [
        None,
        7,
        [7],
        [{"done": 0, "seen": 3}],
        [GOOD | {"done": 3}],
        [GOOD | {"seen": 4}],
        [GOOD | {"seen": -1}],
        [GOOD | {"seen": 1.5}],
        [GOOD | {"done": True}],
        [GOOD | {"scale": "1"}],
        [GOOD | {"scale": float("nan")}],
        [GOOD, GOOD],
    ],
)
def test_one_that_says_something_else_is_refused(wrong: Any) -> None:
    with pytest.raises(PolicyError, match="relative"):
        read_relative(wrong, observation=4, action=3)


def test_a_good_one_is_read() -> None:
    assert read_relative([GOOD], 4, 3) == (RelativeTarget(0, 3, 0.5),)
    assert read_relative((), 4, 3) == ()
