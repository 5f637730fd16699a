"""A base that goes on learning from successes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from enpire.environment import Idleness, Symmetry
from enpire.improvement.base_learning import BaseLearner, BaseSettings, Cloned
from enpire.policies import ChunkPolicy, ChunkSpec, FlowPolicy, FlowSpec
from enpire.types import Episode
from tests.store.samples import episode

SPEC = ChunkSpec("t", observation=6, action=3, history=2, stride=1, chunk=4, execute=2)
SPEC = replace(SPEC, hidden=(32,))
QUICK = BaseSettings(batch=16, lr=3e-3, average=0.9, noise=0.0)


def made(kind: str) -> Cloned:
    torch.manual_seed(0)
    return ChunkPolicy(SPEC) if kind == "chunk" else FlowPolicy(FlowSpec.of(SPEC))


def steady(id: str) -> Episode:
    """An episode in which every action is the same."""
    whole = episode(id, 12)
    return replace(whole, actions=np.full_like(whole.actions, 0.5))


def learner(kind: str) -> BaseLearner:
    begun = BaseLearner(made(kind), QUICK, torch.Generator().manual_seed(1))
    for number in range(3):
        begun.add(steady(f"e{number}"))
    return begun


def missed(policy: Cloned) -> float:
    """By how much its chunks are off 0.5, on average, at what was seen."""
    history = np.repeat(episode("e0", 12).observations[:, None], SPEC.history, axis=1)
    chunks = policy.sampler("").many(history, list(range(12)))
    return float(np.abs(chunks - 0.5).mean())


@pytest.mark.parametrize("kind", ["chunk", "flow"])
def test_it_comes_to_do_what_succeeded(kind: str) -> None:
    begun = learner(kind)
    before = begun.acting()
    assert len(begun) == 36
    for _ in range(300):
        begun.step()
    assert missed(begun.acting()) < 0.5 * missed(before)
    assert missed(before) == missed(made(kind)), "what was handed out stays as it was"


def test_of_an_episode_in_which_somebody_helped_only_the_help_is_cloned() -> None:
    whole = steady("h")
    helped = replace(whole, intervened=np.arange(12) >= 8, rewound=np.zeros(12, bool))
    assert learner("flow").add(helped) == 4


def test_periods_that_are_dropped_are_not_cloned() -> None:
    begun = learner("flow")
    assert begun.add(steady("d"), dropped=np.arange(12) < 8) == 4
    assert begun.add(steady("n"), dropped=np.ones(12, bool)) == 0
    assert len(begun) == 36 + 4


def test_moments_from_which_on_hands_stand_still_are_not_cloned() -> None:
    """Shown two actions at once, it looks at both."""
    still = Symmetry(turn=0.0, shift=(0.0, 0.0, 0.0), idle=Idleness(0.3, (0, 1)))
    begun = BaseLearner(made("flow"), QUICK, torch.Generator().manual_seed(1), still)
    rests = steady("r")
    rests.actions[4:9, :2] = 0.1
    assert begun.add(rests) == 12 - 4


def test_a_symmetry_moves_what_is_cloned() -> None:
    turned = Symmetry(turn=np.pi, shift=(0.0, 0.0, 0.0), actions=((0, 1),))
    moved = BaseLearner(made("flow"), QUICK, torch.Generator().manual_seed(1), turned)
    for number in range(3):
        moved.add(steady(f"e{number}"))
    for _ in range(300):
        moved.step()
    history = np.repeat(episode("e0", 12).observations[:, None], SPEC.history, axis=1)
    chunks = moved.acting().sampler("").many(history, list(range(12)))
    assert abs(chunks[..., :2].mean()) < 0.2  # in all directions alike
    assert chunks[..., 2].mean() > 0.3  # a height stays


@pytest.mark.parametrize("kind", ["chunk", "flow"])
def test_it_goes_on_from_what_was_kept_to_the_same_weights(kind: str) -> None:
    whole, half, other = (learner(kind) for _ in range(3))
    for _ in range(20):
        whole.step()
    for _ in range(10):
        half.step()
    other.restore(half.state())
    for _ in range(10):
        other.step()
    assert other.steps == 20
    one, again = whole.acting().tensors(), other.acting().tensors()
    assert all(np.array_equal(one[name], again[name]) for name in one)
