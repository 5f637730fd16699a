"""The optimiser learns what can be learned, repeats, and says when it cannot."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from enpire.environment import Heading, Idleness, RelativeTarget, Symmetry
from enpire.errors import RecipeError
from enpire.improvement.behaviour_cloning import Training, clone, fit, fresh
from enpire.improvement.data import examples
from enpire.improvement.recipe import RecipeInputs
from enpire.policies import ChunkPolicy, ChunkSpec, FlowPolicy
from enpire.types import Episode
from tests.store.samples import episode

SPEC = ChunkSpec("t", observation=3, action=2, history=1, stride=1, chunk=1, hidden=(32,))
TRAINING = Training(steps=150, batch=64, lr=3e-3, average=0.9, noise=0.0)
MIX = np.array([[0.5, -0.2], [0.1, 0.4], [-0.3, 0.2]])


def linear(id: str, length: int = 100) -> Episode:
    """Actions are a linear function of the observations."""
    rng = np.random.default_rng(len(id))
    seen = rng.standard_normal((length, 3))
    return episode(
        id, length, observations=seen.astype(np.float32), actions=(seen @ MIX).astype(np.float32)
    )


DATA = examples([linear("a"), linear("bb")], SPEC)


def start() -> ChunkPolicy:
    return fresh(SPEC, DATA, seed=0)


def error(policy: ChunkPolicy) -> float:
    """Share of the actions' variance that is not explained."""
    predicted = policy.infer(DATA.rows.numpy()[:, None])[:, 0]
    wrong = (predicted - DATA.actions[:, 0].numpy()) ** 2
    return float(wrong.mean() / DATA.actions.var().item())


def test_it_learns_a_linear_function() -> None:
    short = fit(start(), DATA, replace(TRAINING, steps=5), seed=1)
    long = fit(start(), DATA, TRAINING, seed=1)
    assert error(long.policy) < 0.15
    assert error(long.policy) < 0.2 * error(short.policy)
    assert long.loss < short.loss
    assert long.seconds > 0


def test_without_pictures_none_are_shifted() -> None:
    given = RecipeInputs(SPEC, [linear("a")], None, 0)
    with pytest.raises(RecipeError, match="--images 64"):
        clone(given, given.episodes, "chunk", replace(TRAINING, shift=2), usual=1)


def test_the_same_seed_gives_the_same_weights() -> None:
    training = replace(TRAINING, steps=20, noise=0.05)
    one, same, other = (fit(start(), DATA, training, seed).policy.tensors() for seed in (1, 1, 2))
    for name, value in one.items():
        np.testing.assert_array_equal(value, same[name])
    assert any((value != other[name]).any() for name, value in one.items())


def test_the_start_is_not_changed() -> None:
    policy = start()
    before = policy.tensors()
    before = {name: value.copy() for name, value in before.items()}
    fit(policy, DATA, replace(TRAINING, steps=5), seed=1)
    for name, value in policy.tensors().items():
        np.testing.assert_array_equal(value, before[name])


def test_a_fresh_policy_has_the_normalisation_of_the_data_and_keeps_it() -> None:
    fitted = fit(start(), DATA, replace(TRAINING, steps=2), seed=1).policy
    other = examples([linear("ccc", 50)], SPEC)
    fitted = fit(fitted, other, replace(TRAINING, steps=2), seed=1).policy
    np.testing.assert_allclose(fitted.mean, DATA.rows.mean(dim=0), atol=1e-6)
    np.testing.assert_allclose(fitted.std, DATA.rows.std(dim=0), atol=1e-6)
    np.testing.assert_allclose(fitted.centre, DATA.action_mean)
    np.testing.assert_allclose(fitted.spread, DATA.action_std)
    assert not fitted.training


def test_weights_decide_whom_it_follows() -> None:
    seen = np.random.default_rng(0).standard_normal((200, 3)).astype(np.float32)
    left = episode("l", 200, observations=seen, actions=np.full((200, 2), -1, np.float32))
    right = episode("r", 200, observations=seen, actions=np.full((200, 2), 1, np.float32))
    for weights, sign in (((1.0, 0.0), -1), ((0.0, 1.0), 1)):
        data = examples([left, right], SPEC, weights)
        actions = fit(fresh(SPEC, data, seed=0), data, TRAINING, seed=1).policy.infer(seen[:, None])
        assert (sign * actions > 0.6).mean() > 0.95


def test_the_weighted_error_by_hand() -> None:
    """One example of two periods, of a chunk of four: the others are not there to be missed."""
    spec = replace(SPEC, chunk=4)
    acted = np.array([[0.5, -0.5], [0.25, 0.0]], np.float32)
    data = examples(
        [episode("e", 2, observations=np.zeros((2, 3), np.float32), actions=acted)], spec
    )
    first = replace(data.only(np.array([True, False])), weight=torch.tensor([3.0]))
    policy = fresh(spec, first, seed=0)
    with torch.no_grad():
        for values in policy.net[-1].parameters():
            values.zero_()  # it does what is usual, the centre
        policy.centre.zero_()
        policy.spread.fill_(0.5)
    one, two = (1.0 + 1.0) / 2, (0.25 + 0.0) / 2  # squares in units of the spread, over actions
    fitted = fit(policy, first, replace(TRAINING, steps=1), seed=1)
    assert fitted.loss == pytest.approx(3.0 * (one + two) / 2)


def test_no_steps_are_no_training() -> None:
    with pytest.raises(RecipeError, match=r"training\.steps is 0"):
        fit(start(), DATA, replace(TRAINING, steps=0), seed=1)


def test_what_lies_beyond_the_end_is_not_learned() -> None:
    """Rows of length one: only the first action of a chunk is ever valid."""
    spec = replace(SPEC, chunk=4)
    data = examples([linear("a" * n, 1) for n in range(1, 80)], spec)
    policy = fresh(spec, data, seed=0)
    last = [name for name in policy.tensors() if name.startswith("net.")][-1]
    fitted = fit(policy, data, replace(TRAINING, steps=10, decay=0.0), seed=1).policy
    moved = fitted.tensors()[last] != policy.tensors()[last]
    assert moved[: SPEC.action].all()
    assert not moved[SPEC.action :].any()


@pytest.mark.parametrize("where", ["observations", "actions"])
def test_data_that_is_not_a_number(where: str) -> None:
    bad = linear("a")
    arrays = {"observations": bad.observations.copy(), "actions": bad.actions.copy()}
    arrays[where][3] = np.nan
    data = examples([replace(bad, **arrays)], SPEC)
    with pytest.raises(RecipeError, match="diverged at step 0: the loss is nan"):
        fit(start(), data, TRAINING, seed=1)


def test_a_rate_that_is_too_high() -> None:
    with pytest.raises(RecipeError, match="diverged"):
        fit(start(), DATA, replace(TRAINING, steps=20, lr=1e30, decay=1.0), seed=1)


PUSHING = Symmetry(
    turn=0.0,
    shift=(0.0, 0.0, 0.0),
    heading=Heading(cosine=0, sine=1, seen=(), done=((0, 1),)),
    idle=Idleness(0.5, (0, 1)),
)


def ahead(id: str, length: int = 200) -> Episode:
    """Whatever the yaw, the hand goes ahead along the object; in every fourth period it rests."""
    yaw = np.random.default_rng(len(id)).uniform(-np.pi, np.pi, length)
    seen = np.stack([np.cos(yaw), np.sin(yaw), np.zeros(length)], axis=1).astype(np.float32)
    actions = 0.8 * seen[:, :2]
    actions[::4] = 0.0
    return episode(id, length, observations=seen, actions=actions)


def test_a_clone_acts_along_the_object_and_does_not_stand_still() -> None:
    shape = replace(SPEC, execute=1)
    given = RecipeInputs(shape, [ahead("a")], None, 0, symmetry=PUSHING)
    fitted = clone(given, given.episodes, "flow", replace(TRAINING, steps=100), usual=1)
    assert isinstance(fitted.policy, FlowPolicy)
    assert fitted.policy.spec.heading == PUSHING.heading
    np.testing.assert_allclose(fitted.policy.centre, [0.8, 0.0], atol=1e-6)
    yaw = np.linspace(-3, 3, 20)
    seen = np.stack([np.cos(yaw), np.sin(yaw), np.zeros(20)], axis=1)[:, None].astype(np.float32)
    chunks = fitted.policy.inference()(seen, np.zeros((20, 2), np.float32))
    np.testing.assert_allclose(chunks[:, 0], 0.8 * seen[:, 0, :2], atol=0.05)


def follows(id: str, length: int = 200) -> Episode:
    """The target, in units of its own, is ahead of the joint by 0.02 a period, wherever that is."""
    joint = np.random.default_rng(len(id)).uniform(-2, 2, (length, 1)).astype(np.float32)
    gripper = np.ones((length, 1), np.float32)
    seen = np.concatenate([joint, gripper, gripper], axis=1)
    return episode(id, length, observations=seen, actions=np.hstack([0.5 * joint + 0.02, gripper]))


def test_a_clone_learns_targets_of_joints_as_ways() -> None:
    targets = (RelativeTarget(done=0, seen=0, scale=0.5),)
    shape = replace(SPEC, chunk=1, execute=1)
    given = RecipeInputs(shape, [follows("a")], None, 0, relative=targets)
    fitted = clone(given, given.episodes, "flow", replace(TRAINING, steps=100), usual=1)
    assert isinstance(fitted.policy, FlowPolicy)
    assert fitted.policy.spec.relative == targets
    np.testing.assert_allclose(fitted.policy.centre, [0.02, 1.0], atol=1e-6)
    joint = np.linspace(-2, 2, 20, dtype=np.float32)
    seen = np.stack([joint, np.ones(20), np.ones(20)], axis=1)[:, None].astype(np.float32)
    chunks = fitted.policy.inference()(seen, np.zeros((20, 2), np.float32))
    np.testing.assert_allclose(chunks[:, 0, 0], 0.5 * joint + 0.02, atol=2e-3)
