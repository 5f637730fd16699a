"""Ours and the bare loop take the same gradient steps, to the same weights."""

from __future__ import annotations

import pytest
import torch

from benchmarks.learner import (
    MIX,
    SPEC,
    BareCloning,
    BareCritics,
    bench_learner,
    chunks,
    critics,
    moments_to_clone,
)
from enpire.improvement.behaviour_cloning import Training, fit, fresh

pytestmark = pytest.mark.medium
MOMENTS, STEPS, SEED = 400, 4, 0


def assert_same(one: torch.nn.Module, other: torch.nn.Module) -> None:
    for mine, bare in zip(one.parameters(), other.parameters(), strict=True):
        torch.testing.assert_close(mine, bare, rtol=1e-4, atol=1e-6)


def test_critics_come_to_the_same_weights() -> None:
    buffer, ours = chunks(MOMENTS, SEED), critics(SEED)
    bare, begun = BareCritics(critics(SEED), buffer), critics(SEED).chooser.critics
    for _ in range(STEPS):
        ours.step(buffer, MIX)
        bare.step()
    assert_same(ours.chooser.critics, bare.critics)
    assert_same(ours.target, bare.target)
    with pytest.raises(AssertionError):
        assert_same(ours.chooser.critics, begun)


def test_clones_come_to_the_same_weights() -> None:
    data, training = moments_to_clone(MOMENTS, SEED), Training(steps=STEPS)
    policy = fresh(SPEC, data, SEED)
    bare = BareCloning(policy, data, training, SEED).run()
    assert_same(fit(policy, data, training, SEED).policy, bare)


def test_both_learners_are_told() -> None:
    measured = bench_learner(steps=1, blocks=1, moments=MOMENTS)
    assert [each.work for each in measured.compared] == ["critics, a step", "cloning, a step"]
    assert all(set(each.leaner) == {"bare"} for each in measured.compared)
