"""Seeing and acting along an object's axes: a turned scene is the same scene."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from enpire.environment import Heading
from enpire.errors import PolicyError
from enpire.policies import FlowPolicy, FlowSpec
from enpire.policies.heading import (
    CompiledHeading,
    actions_along,
    actions_back,
    history_along,
    read_heading,
)
from tests.policies.test_flow import policy

# cosine and sine of a yaw, a vector, something that does not turn; a hand's step, its height
HEADING = Heading(cosine=0, sine=1, seen=((2, 3),), done=((0, 1),))
SPEC = FlowSpec(
    "t", observation=5, action=3, history=2, chunk=4, execute=2, hidden=(16, 16), heading=HEADING
)


def scene(yaw: float, rows: int = 6) -> np.ndarray:
    """Histories (rows, 2, 5) of moments at yaws of their own, all turned by `yaw`."""
    rng = np.random.default_rng(1)
    angle = rng.uniform(-3, 3, (rows, 2)) + yaw
    vector = rng.standard_normal((rows, 2)) @ np.array([1, 1j])
    vector = vector[:, None] * np.exp(1j * yaw) * np.array([1.0, 0.5])
    rest = rng.standard_normal((rows, 2))
    parts = [np.cos(angle), np.sin(angle), vector.real, vector.imag, rest]
    return np.stack(parts, axis=2).astype(np.float32)


def test_a_quarter_turn_worked_by_hand() -> None:
    history = torch.tensor([[[1.0, 0.0, 9.0, 9.0, 5.0], [0.0, 2.0, 0.0, 3.0, 5.0]]])
    seen = history_along(HEADING, history)
    np.testing.assert_allclose(seen[0, 1], [0, 2, 3, 0, 5], atol=1e-6)
    np.testing.assert_allclose(seen[0, 0], [1, 0, 9, -9, 5], atol=1e-6)  # by the newest yaw
    actions = torch.tensor([[[0.0, 1.0, 0.5]]])
    done = actions_along(HEADING, history, actions)
    np.testing.assert_allclose(done[0, 0], [1, 0, 0.5], atol=1e-6)
    np.testing.assert_allclose(actions_back(HEADING, history, done), actions, atol=1e-6)


def test_where_no_yaw_is_seen_nothing_is_turned() -> None:
    history = torch.tensor([[[0.0, 0.0, 1.0, 2.0, 3.0]]])
    assert torch.equal(history_along(HEADING, history), history)


def test_compiled_it_is_the_same() -> None:
    history = scene(0.3)
    actions = np.random.default_rng(2).standard_normal((6, 4, 3)).astype(np.float32)
    compiled, seen, done = CompiledHeading(HEADING), *map(torch.from_numpy, (history, actions))
    along = history_along(HEADING, seen)
    np.testing.assert_allclose(compiled.history(history), along, atol=1e-6)
    there = compiled.actions(history, actions, back=False)
    np.testing.assert_allclose(there, actions_along(HEADING, seen, done), atol=1e-6)
    np.testing.assert_allclose(compiled.actions(history, there, back=True), actions, atol=1e-5)


def test_in_a_turned_scene_a_policy_does_the_same_turned() -> None:
    """It may see the yaw itself, so its normalisation leaves that out here."""
    made = policy(SPEC)
    made.std[:2] = 1e9
    drawn = np.random.default_rng(3).standard_normal((6, 12)).astype(np.float32)
    infer = made.inference()
    before, after = infer(scene(0.0), drawn), infer(scene(1.1), drawn)
    steps = (before[..., 0] + 1j * before[..., 1]) * np.exp(1.1j)
    np.testing.assert_allclose(after[..., 0], steps.real, atol=2e-5)
    np.testing.assert_allclose(after[..., 1], steps.imag, atol=2e-5)
    np.testing.assert_allclose(after[..., 2], before[..., 2], atol=2e-5)


@pytest.mark.parametrize("spec", [SPEC, replace(SPEC, pending=2), replace(SPEC, steering=(8,))])
def test_inference_is_the_forward_pass(spec: FlowSpec) -> None:
    made = policy(spec)
    drawn = np.random.default_rng(3).standard_normal((6, 12)).astype(np.float32)
    with torch.no_grad():
        expected = made(torch.from_numpy(scene(0.5)), torch.from_numpy(drawn)).numpy()
    np.testing.assert_allclose(made.inference()(scene(0.5), drawn), expected, atol=2e-5)


def test_actions_that_are_pending_stay_as_they_are() -> None:
    left = np.random.default_rng(4).standard_normal((6, 2, 3)).astype(np.float32)
    drawn = np.random.default_rng(3).standard_normal((6, 12)).astype(np.float32)
    chunks = policy(replace(SPEC, pending=3)).inference()(scene(0.5), drawn, left)
    np.testing.assert_allclose(chunks[:, :2], left, atol=1e-5)


def test_its_file_says_it() -> None:
    assert FlowSpec.from_json(SPEC.to_json()) == SPEC
    made = policy(SPEC)
    again = FlowPolicy.load(SPEC.to_json(), made.tensors())
    drawn = np.random.default_rng(3).standard_normal((6, 12)).astype(np.float32)
    np.testing.assert_array_equal(
        made.inference()(scene(0.2), drawn), again.inference()(scene(0.2), drawn)
    )


GOOD = {"cosine": 0, "sine": 1, "seen": ((2, 3),), "done": ((0, 1),)}


@pytest.mark.parametrize(
    "wrong",
    [
        "north",
        3,
        {},
        {**GOOD, "cosine": 5},
        {**GOOD, "sine": -1},
        {**GOOD, "sine": 1.0},
        {**GOOD, "sine": True},
        {**GOOD, "seen": ((2, 3, 4),)},
        {**GOOD, "seen": (2, 3)},
        {**GOOD, "done": ((0, 3),)},
        {**GOOD, "done": None},
        {**GOOD, "more": 1},
    ],
)
def test_what_names_no_entries_is_refused(wrong: Any) -> None:
    with pytest.raises(PolicyError, match="heading"):
        read_heading(wrong, observation=5, action=3)


def test_a_file_may_say_nothing_of_it() -> None:
    assert read_heading(None, 5, 3) is None
    assert read_heading(GOOD, 5, 3) == HEADING
