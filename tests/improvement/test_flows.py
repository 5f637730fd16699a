"""Recipes for flow policies: what they begin from, what changes, and towards what."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from enpire.environment import Symmetry
from enpire.improvement import behaviour_cloning
from enpire.improvement.behaviour_cloning import CALM, LEAST_STEPS, Training
from enpire.improvement.noise import SteeredFlowActor, SteeredFlowAgent
from enpire.improvement.recipe import RecipeInputs
from enpire.improvement.recipes.bc import BehaviourCloning
from enpire.improvement.recipes.dsrl import NoiseLearning, steered
from enpire.improvement.replay import Transitions
from enpire.improvement.sac import SacSettings
from enpire.policies import ChunkSpec, FlowPolicy, FlowSpec
from enpire.policies.flow import DEVIATION
from enpire.policies.kernels import NOISE_LIMIT
from enpire.types import Outcome, Purpose, Verdict
from tests.improvement.symmetries import named
from tests.store.samples import episode

SPEC = FlowSpec(
    "t", observation=6, action=3, history=2, stride=1, chunk=3, execute=2, hidden=(16, 16)
)
SMALL = SacSettings(steps=3, batch=8, width=16, delay=1)


def flow(seed: int = 0) -> FlowPolicy:
    torch.manual_seed(seed)
    return FlowPolicy(SPEC).eval()


def seen(rows: int) -> torch.Tensor:
    return torch.randn(rows, 2, 6, generator=torch.Generator().manual_seed(1))


def test_a_flow_is_steered_alone() -> None:
    """Its own weights stay, bit by bit, and at first nothing is steered."""
    begun = flow()
    episodes = [episode(f"e{n}", 8) for n in range(3)]
    made = NoiseLearning(learning=SMALL).improve(RecipeInputs(SPEC, episodes, begun, seed=1)).policy
    for name, values in begun.tensors().items():
        np.testing.assert_array_equal(made.tensors()[name], values)
    assert any(name.startswith("steer") for name in made.tensors())
    first = steered(begun)
    noise = first.chosen(first.see(seen(5)), torch.zeros(5, 9))
    np.testing.assert_array_equal(noise.detach(), 0.0)


def test_steering_begins_with_as_much_noise_as_the_flow_acts_with() -> None:
    torch.manual_seed(0)
    deviations = [
        float(steered(FlowPolicy(replace(SPEC, deviation=each))).log_std.detach().exp().mean())
        for each in (1.0, 0.5)
    ]
    assert deviations == pytest.approx([DEVIATION, DEVIATION / 2])


def test_a_flow_that_is_steered_goes_on_from_its_steering() -> None:
    once = steered(flow())
    with torch.no_grad():
        once.steer[-1].bias.fill_(0.3)
    again = steered(once)
    for name, values in once.tensors().items():
        np.testing.assert_array_equal(again.tensors()[name], values)


def asked_steps(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Have flows be fitted without a step, and return how many each was asked for."""
    steps: list[int] = []

    def fit(policy: FlowPolicy, data: object, training: Training, *rest: object) -> object:
        steps.append(training.steps)
        return behaviour_cloning.Fit(policy, 0.0, 0.0, training.steps)

    monkeypatch.setattr(behaviour_cloning, "fit", fit)
    return steps


def test_flows_are_wider_and_learn_for_longer_and_of_those_who_know(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    shown = episode("shown", 8, purpose=Purpose.DEMONSTRATION)
    own = episode("own", 8, actions=shown.actions + 5.0)
    spec = ChunkSpec("t", observation=6, action=3, chunk=3, execute=2, hidden=(8, 16))
    steps = asked_steps(monkeypatch)
    monkeypatch.setattr(behaviour_cloning, "PASSES", 64.0 * Training().batch / 8)
    given = RecipeInputs(spec, [shown, own], None, seed=1)
    for least, most in ((10, 100), (100, 200), (5, 10)):
        monkeypatch.setattr(behaviour_cloning, "LEAST_STEPS", least)
        monkeypatch.setattr(behaviour_cloning, "MOST_STEPS", most)
        made = NoiseLearning().improve(given).policy
    assert isinstance(made, FlowPolicy)
    behaviour_cloning.clone_flow(given, [shown], Training(steps=7))
    assert steps == [64, 100, 10, 7], "each of eight examples as often as is usual, or as told"
    assert made.spec.hidden == (16, 32)
    assert made.spec.deviation == CALM
    lively = BehaviourCloning(policy="flow", deviation=0.9).improve(given).policy
    assert isinstance(lively, FlowPolicy)
    assert lively.spec.deviation == 0.9
    assert float(made.centre.max()) < 4.0, "what a policy did itself is not cloned"


def test_the_more_ways_an_example_is_shown_the_longer_a_flow_learns(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    shown = episode("shown", 8, purpose=Purpose.DEMONSTRATION)
    steps = asked_steps(monkeypatch)
    monkeypatch.setattr(behaviour_cloning, "LEAST_STEPS", 1)
    before_a_face = Symmetry(0.5, (0.0, 0.0, 0.0), displaced=named("zip_tie").displaced)
    for symmetry in (None, replace(before_a_face, displaced=None), before_a_face):
        given = RecipeInputs(SPEC, [shown], None, seed=1, symmetry=symmetry)
        behaviour_cloning.clone_flow(given, [shown], Training(batch=1))
    assert steps[0] < steps[1] < steps[2]


def test_an_incumbent_of_another_kind_gives_way_to_a_flow() -> None:
    won = [episode(f"e{n}", 8) for n in range(3)]
    lost = episode("lost", 8, verdict=Verdict(Outcome.FAILURE))
    candidate = NoiseLearning(learning=SMALL).improve(
        RecipeInputs(SPEC, [*won, lost], None, seed=1)
    )
    assert isinstance(candidate.policy, FlowPolicy)
    assert (candidate.numbers["episodes"], candidate.numbers["steps"]) == (3, LEAST_STEPS)


def test_a_flow_that_nobody_has_seen_act_is_a_candidate_as_it_was_cloned() -> None:
    recipe = NoiseLearning(learning=SMALL)
    given = RecipeInputs(SPEC, [episode(f"e{n}", 8) for n in range(3)], None, seed=1)
    alone = behaviour_cloning.clone_flow(given, given.episodes, Training(), stage="flow").policy
    first = recipe.improve(given).policy
    then = recipe.improve(replace(given, incumbent=alone)).policy
    assert first.tensors().keys() == alone.tensors().keys()
    for name, values in alone.tensors().items():
        np.testing.assert_array_equal(first.tensors()[name], values)
    assert any((values != alone.tensors().get(n)).any() for n, values in then.tensors().items())


def test_the_density_of_noise_is_that_of_a_squashed_normal() -> None:
    """Over all noise it is one: the mean of 1 / density is the volume, here of one entry's."""
    torch.manual_seed(0)
    spec = FlowSpec("t", 1, 1, history=1, chunk=1, execute=1, hidden=(8,), steering=(8,))
    actor = SteeredFlowActor(FlowPolicy(spec))
    history = torch.zeros(200_000, 1, 1)
    with torch.no_grad():
        noise, density = actor.noise(history, torch.Generator().manual_seed(1))
    inside = (noise[:, 0] / NOISE_LIMIT).abs() < 0.9
    volume = (torch.exp(-density) * inside).mean().item()
    assert volume == pytest.approx(2 * 0.9, rel=0.03)


def test_the_entropy_that_is_wanted_is_that_of_noise_about_nowhere() -> None:
    data, generator = right_is_good(8), torch.Generator().manual_seed(1)
    learning = SacSettings(steps=1, width=16, deviation=DEVIATION)
    agent = SteeredFlowAgent(steered(flow()), data, learning, generator)
    with torch.no_grad():
        _, density = agent.actor.noise(seen(20_000), generator)
    assert agent.wanted() == pytest.approx(-density.mean().item(), abs=0.05)


def test_gradients_of_a_draw_by_finite_differences() -> None:
    made = SteeredFlowActor(steered(flow()).double()).double()
    history = seen(4).double()
    weights = torch.linspace(-1, 1, 4 * 9, dtype=torch.double).view(4, 3, 3)

    def value() -> torch.Tensor:
        _, actions, density = made.draw(history, torch.Generator().manual_seed(3))
        return 0.1 * (actions * weights).sum() + density.sum()

    for name in ("log_std", "policy.steer.6.weight"):
        parameter = made.get_parameter(name)
        (slope,) = torch.autograd.grad(value(), parameter)
        with torch.no_grad():
            at, step = parameter.view(-1), 1e-6
            at[1] += step
            above = value()
            at[1] -= 2 * step
            below = value()
            at[1] += step
        difference = float(above - below) / (2 * step)
        assert slope.view(-1)[1].item() == pytest.approx(difference, rel=1e-4, abs=1e-7)


def right_is_good(rows: int = 512) -> Transitions:
    """One chunk is all there is; the chance of success is how far right it goes."""
    generator = torch.Generator().manual_seed(5)
    actions = torch.rand(rows, 2, 3, generator=generator) * 2 - 1
    worth = (0.5 + 0.5 * actions[:, :, 0].mean(dim=1)).clamp(0, 1)
    history, nothing = seen(rows), torch.zeros(rows)
    return Transitions(history, actions, worth, nothing, history, worth)


def shut() -> FlowPolicy:
    """Its gate is shut: a chunk is its noise."""
    made = flow()
    with torch.no_grad():
        made.net[-1].bias[9:] -= 20.0
        made.spread.fill_(0.4)
    return made


def test_the_critic_of_noise_knows_something_when_the_actor_begins() -> None:
    """Where a chunk is its noise, noise to the right is worth more before a step of the actor."""
    data, generator = right_is_good(), torch.Generator().manual_seed(2)
    learning = SacSettings(steps=300, batch=64, width=32, lr=3e-3, delay=1, warm_up=1.0)
    made = SteeredFlowAgent(steered(shut()), data, learning, generator)
    start = made.policy.tensors()
    for at in range(learning.steps):
        made.learn_both(data.at(torch.randint(len(data), (64,), generator=generator)), at)
    for name, values in start.items():
        np.testing.assert_array_equal(made.actor.policy.tensors()[name], values)
    right = torch.zeros(50, 3, 3)
    right[:, :, 0] = 1.0
    with torch.no_grad():
        better, worse = (made.noise_odds(seen(50), sign * right.flatten(1)) for sign in (1, -1))
    assert (better - worse).mean() > 0.5


def test_slopes_of_the_actors_loss_by_finite_differences() -> None:
    data, generator = right_is_good(16), torch.Generator().manual_seed(2)
    learning = SacSettings(steps=1, width=16, deviation=0.3, cloning=0.0)
    made = SteeredFlowAgent(steered(flow()), data, learning, generator)
    for module in made.modules.values():
        module.double()
    made.begun.double()
    exact = Transitions(*(getattr(data, name).double() for name in data.__slots__))
    parameter = list(made.actor.policy.steer.parameters())[-2]

    def loss() -> torch.Tensor:
        made.generator.manual_seed(0)  # the same draws each time
        return made.actor_loss(exact, exact.actions)[0]

    (slope,) = torch.autograd.grad(loss(), parameter)
    for entry in (0, 5, 11):
        ends = []
        for by in (1e-6, -1e-6):
            with torch.no_grad():
                parameter.view(-1)[entry] += by
                ends.append(loss().item())
                parameter.view(-1)[entry] -= by
        difference = (ends[0] - ends[1]) / 2e-6
        assert slope.view(-1)[entry].item() == pytest.approx(difference, rel=1e-4, abs=1e-7)


def test_it_goes_where_success_is() -> None:
    data, generator = right_is_good(), torch.Generator().manual_seed(2)
    learning = SacSettings(
        steps=150, batch=64, width=32, lr=3e-3, delay=1, cloning=0.1, deviation=0.2
    )
    begun = shut()
    made = SteeredFlowAgent(steered(begun), data, learning, generator)
    for at in range(150):
        batch = data.at(torch.randint(len(data), (64,), generator=generator))
        made.learn_critic(batch, made.target_of(batch))
        made.learn_actor(batch, batch.actions, at)
    noise = np.random.default_rng(3).standard_normal((200, 9)).astype(np.float32)
    history = seen(200).numpy()
    before, after = (p.inference()(history, noise)[:, :2, 0] for p in (begun, made.policy))
    assert after.mean() > before.mean() + 0.2
