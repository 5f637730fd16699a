"""A flow policy: its field, its steps from noise, the same compiled, and its file."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from enpire.errors import PolicyError
from enpire.improvement.behaviour_cloning import Training, fit, fresh, fresh_flow
from enpire.improvement.data import examples
from enpire.policies import ChunkSpec, FlowPolicy, FlowSpec, load, metadata
from enpire.policies.kernels import NOISE_LIMIT
from tests.store.samples import episode

SPEC = FlowSpec(
    "t", observation=5, action=3, history=2, stride=2, chunk=4, execute=2, hidden=(16, 16)
)
STEERED = replace(SPEC, steering=(8,))


def policy(spec: FlowSpec = SPEC, seed: int = 0) -> FlowPolicy:
    """Random weights, with normalisations that are not the identity."""
    torch.manual_seed(seed)
    made = FlowPolicy(spec).eval()
    with torch.no_grad():
        for buffer in (made.mean, made.centre):
            buffer.normal_()
        for buffer in (made.std, made.spread):
            buffer.uniform_(0.5, 2.0)
        for module in made.modules():
            if isinstance(module, torch.nn.LayerNorm):
                module.weight.normal_(1.0, 0.2)
                module.bias.normal_(0.0, 0.2)
    return made


def history(rows: int = 6) -> np.ndarray:
    rng = np.random.default_rng(1)
    return rng.standard_normal((rows, SPEC.history, SPEC.observation)).astype(np.float32)


def drawn(rows: int = 6) -> np.ndarray:
    size = SPEC.chunk * SPEC.action
    return np.random.default_rng(2).standard_normal((rows, size)).astype(np.float32)


@pytest.mark.parametrize(
    "spec", [SPEC, STEERED, replace(SPEC, hidden=(256, 256, 256), steps=8, deviation=0.3)]
)
def test_inference_is_the_forward_pass(spec: FlowSpec) -> None:
    made = policy(spec)
    with torch.no_grad():
        expected = made(torch.from_numpy(history(50)), torch.from_numpy(drawn(50))).numpy()
    actions = made.inference()(history(50), drawn(50))
    assert actions.dtype == np.float32
    assert actions.shape == (50, SPEC.chunk, SPEC.action)
    np.testing.assert_allclose(actions, expected, atol=2e-5)


@pytest.mark.parametrize("spec", [SPEC, STEERED])
def test_rows_do_not_mix(spec: FlowSpec) -> None:
    """To the last bit: an action must not depend on how many stations ask at the same time."""
    infer = policy(replace(spec, hidden=(256, 256))).inference()
    together = infer(history(), drawn())
    for i in range(len(together)):
        np.testing.assert_array_equal(
            infer(history()[i : i + 1], drawn()[i : i + 1])[0], together[i]
        )


@pytest.mark.parametrize("spec", [SPEC, STEERED])
def test_noise_chooses_the_chunk(spec: FlowSpec) -> None:
    infer = policy(spec).inference()
    assert (infer(history(), drawn()) != infer(history(), -drawn())).all(axis=(1, 2)).all()


def test_it_may_act_with_less_noise_than_it_was_taught_with() -> None:
    calm = policy(replace(SPEC, deviation=0.5)).inference()(history(), drawn())
    np.testing.assert_array_equal(calm, policy().inference()(history(), 0.5 * drawn()))
    steered, chosen = policy(STEERED), policy(replace(STEERED, deviation=0.5))
    same = (made.inference()(history(), drawn()) for made in (steered, chosen))
    np.testing.assert_array_equal(*same)


def test_steered_noise_is_bounded() -> None:
    made = policy(STEERED)
    with torch.no_grad():
        made.steer[-1].bias.fill_(100.0)
        chosen = made.chosen(made.see(torch.from_numpy(history())), torch.from_numpy(drawn()))
    np.testing.assert_allclose(chosen, NOISE_LIMIT)


def act(rows: list[int], seed: int = 0, exploration: float = 0.0) -> dict[int, np.ndarray]:
    """Actions of 12 periods by row, each row with observations and a seed of its own."""
    controller = policy().controller(None)
    for row in rows:
        controller.begin(row, np.random.default_rng(seed + row), exploration)
    actions = []
    for period in range(12):
        seen = np.array([np.sin(period + row + np.arange(5)) for row in rows], np.float32)
        actions.append(controller.act(np.array(rows), seen, None))
    return {row: np.array(actions)[:, i] for i, row in enumerate(rows)}


@pytest.mark.parametrize("exploration", [0.0, 0.4])
def test_an_episode_has_its_own_noise(exploration: float) -> None:
    """The same, to the last bit, whatever runs beside it; another seed is another episode."""
    together = act([0, 1, 3], exploration=exploration)
    for row in (0, 1, 3):
        np.testing.assert_array_equal(act([row], exploration=exploration)[row], together[row])
    assert (act([0], seed=7)[0] != act([0])[0]).any()


@pytest.mark.parametrize("spec", [SPEC, STEERED])
def test_round_trip_through_a_file(spec: FlowSpec) -> None:
    original = policy(spec)
    copy = load(metadata(original), original.tensors())
    assert isinstance(copy, FlowPolicy)
    assert copy.spec == spec
    assert not copy.training
    np.testing.assert_array_equal(
        copy.inference()(history(), drawn()), original.inference()(history(), drawn())
    )
    with pytest.raises(PolicyError, match="do not fit"):
        load(metadata(original), {"mean": np.zeros(5, np.float32)})


@pytest.mark.parametrize("what", ["rollout", "cloning"])
def test_gradients_by_finite_differences(what: str) -> None:
    made = policy(STEERED).double()
    seen, noise = (torch.from_numpy(each).double() for each in (history(), drawn()))
    weights = torch.linspace(-1, 1, noise.numel(), dtype=torch.double).view(noise.shape)

    def value() -> torch.Tensor:
        if what == "rollout":
            return (made(seen, noise).flatten(1) * weights).sum()
        generator = torch.Generator().manual_seed(3)
        return made.cloning_error(seen, weights.view(-1, 4, 3), generator).sum()

    names = ["net.0.weight", "net.6.bias"] + (["steer.0.weight"] if what == "rollout" else [])
    for name in names:
        parameter = made.get_parameter(name)
        (slope,) = torch.autograd.grad(value(), parameter)
        with torch.no_grad():
            at, step = parameter.view(-1), 1e-6
            at[1] += step
            above = value()
            at[1] -= 2 * step
            below = value()
            at[1] += step
        assert slope.view(-1)[1].item() == pytest.approx(
            float(above - below) / (2 * step), rel=1e-5
        )


@pytest.mark.medium
def test_it_learns_two_ways_where_a_mean_learns_neither() -> None:
    """Half of what was shown goes left, half right, at the same observation."""
    spec = ChunkSpec("t", observation=3, action=2, history=1, stride=1, chunk=2, hidden=(32, 32))
    rng = np.random.default_rng(0)
    seen = rng.standard_normal((600, 3)).astype(np.float32)
    side = np.repeat(rng.choice([-0.8, 0.8], 300), 2)[:, None]
    actions = (side + 0.05 * rng.standard_normal((600, 2))).astype(np.float32)
    episodes = [
        episode(f"e{i}", 2, observations=seen[i : i + 2], actions=actions[i : i + 2])
        for i in range(0, 600, 2)
    ]
    data = examples(episodes, spec)
    training = Training(steps=300, batch=128, lr=3e-3, average=0.98)
    flow = fit(fresh_flow(FlowSpec.of(spec), data, 0), data, training, seed=1).policy
    mean = fit(fresh(spec, data, 0), data, training, seed=1).policy
    shown = np.repeat(seen[:300, None], 1, axis=1)
    noise = rng.standard_normal((300, 4)).astype(np.float32)
    first, between = flow.inference()(shown, noise)[:, 0, 0], mean.infer(shown)[:, 0, 0]
    assert (abs(first) > 0.5).mean() > 0.85
    assert 0.35 < (first > 0).mean() < 0.65
    assert (abs(between) > 0.5).mean() < 0.15


LATE = replace(SPEC, pending=2)


def test_pending_actions_begin_the_chunk_and_the_rest_goes_on_from_them() -> None:
    made = policy(LATE)
    free = made.inference()(history(), drawn())
    other = free[:, :2] + 1.0
    chunks = made.inference()(history(), drawn(), other)
    np.testing.assert_allclose(chunks[:, :2], other, atol=1e-5)
    assert (abs(chunks[:, 2:] - free[:, 2:]).max(axis=(1, 2)) > 1e-3).all()

    size = LATE.action * 2
    known = torch.tensor([[1.0, 1.0, 0.0, 0.0]]).expand(len(chunks), -1)
    with torch.no_grad():
        seen = made.see(torch.from_numpy(history()))
        held = ((torch.from_numpy(other) - made.centre) / made.spread).flatten(1)
        x = torch.from_numpy(drawn())
        for step in range(LATE.steps):
            x = torch.cat([held, x[:, size:]], dim=1)
            time = torch.full((len(x), 1), step / LATE.steps)
            x = x + made.velocity(seen, x, time, known) / LATE.steps
        expected = made.actions(x, torch.from_numpy(history()))[:, 2:].numpy()
    np.testing.assert_allclose(chunks[:, 2:], expected, atol=2e-5)


def test_of_pending_actions_there_is_no_error() -> None:
    made = policy(LATE)
    actions = torch.randn(200, 4, 3, generator=torch.Generator().manual_seed(0))
    seen = torch.from_numpy(history(200))
    error = made.cloning_error(seen, actions, torch.Generator().manual_seed(1))
    pending = (error == 0.0).all(dim=2)
    assert not pending[:, LATE.pending :].any()
    shares = pending.float().mean(dim=0)[: LATE.pending]
    assert torch.allclose(shares, torch.tensor([2 / 3, 1 / 3]), atol=0.12)


@pytest.mark.medium
def test_a_chunk_that_comes_late_goes_on_with_what_was_chosen() -> None:
    """Half of the demonstrations go up and half down, and only what is pending tells which."""
    shown = []
    for number in range(40):
        ramp = np.tile(0.2 * np.arange(12, dtype=np.float32)[:, None], (1, 3))
        actions = ramp if number % 2 else -ramp
        shown.append(
            replace(episode(length=12), actions=actions, observations=np.zeros((12, 5), np.float32))
        )
    spec = replace(LATE, hidden=(64, 64))
    data = examples(shown, spec)
    learned = fit(fresh_flow(spec, data, 0), data, Training(steps=1200, batch=64), 0).policy
    seen = np.zeros((20, LATE.history, LATE.observation), np.float32)
    noise = np.random.default_rng(0).standard_normal((20, 12)).astype(np.float32)
    pending = np.tile(np.array([1.0, 1.2], np.float32)[None, :, None], (20, 1, 3))
    for sign in (1, -1):
        chunks = sign * learned.inference()(seen, noise, sign * pending)
        assert (chunks[:, 2:] > 0.0).mean() > 0.95
        assert chunks[:, 2].mean() == pytest.approx(1.4, abs=0.3)
