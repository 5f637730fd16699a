"""Actor and critic: losses by hand, slopes by differences, values where they are known."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch
from torch import Tensor

from enpire.improvement.checkpoint import NOWHERE
from enpire.improvement.replay import Transitions
from enpire.improvement.residual import Residual
from enpire.improvement.sac import NORMAL, SacAgent, SacSettings, random_minimum
from enpire.policies import ChunkPolicy, ChunkSpec

SPEC = ChunkSpec(
    "corridor", observation=1, action=1, history=1, stride=1, chunk=1, execute=1, hidden=(16,)
)
SMALL = SacSettings(steps=400, batch=64, lr=3e-3, width=32, members=3, polyak=0.9, deviation=0.01)
GAMMA = 0.8
CELLS = 5


def policy(action: float) -> ChunkPolicy:
    """Does the same everywhere."""
    made = ChunkPolicy(SPEC)
    with torch.no_grad():
        for values in made.net[-1].parameters():
            values.zero_()
        made.centre.fill_(action)
        made.mean.fill_((CELLS - 1) / 2)
        made.std.fill_(1.5)
    return made.eval()


def corridor() -> Transitions:
    """A step to the left (-1) or right (+1) in every cell; right of the last one is the goal."""
    cell = torch.arange(CELLS, dtype=torch.float32).repeat(2)
    move = torch.tensor([1.0, -1.0]).repeat_interleave(CELLS)
    then = (cell + move).clamp(min=0)
    goal = then == CELLS
    return Transitions(
        history=cell.view(-1, 1, 1),
        actions=move.view(-1, 1, 1),
        reward=goal.float(),
        discount=torch.where(goal, 0.0, GAMMA),
        later=then.clamp(max=CELLS - 1).view(-1, 1, 1),
        followed=torch.zeros(len(cell)),
    )


def agent(begun: ChunkPolicy, seed: int = 0, **changes: object) -> SacAgent[ChunkPolicy]:
    torch.manual_seed(seed)
    generator = torch.Generator().manual_seed(seed)
    return SacAgent(begun, corridor(), replace(SMALL, **changes), generator)  # type: ignore[arg-type]


def valued(made: SacAgent[ChunkPolicy], data: Transitions) -> Tensor:
    with torch.no_grad():
        return torch.sigmoid(made.critic(data.history, data.actions)).mean(dim=0)


def test_the_least_of_a_random_few() -> None:
    values = torch.tensor([[1.0, 6.0], [2.0, 5.0], [3.0, 4.0]])
    generator = torch.Generator().manual_seed(0)
    assert random_minimum(values, 3, generator).tolist() == [1.0, 4.0]
    drawn = {tuple(random_minimum(values, 2, generator).tolist()) for _ in range(50)}
    assert drawn == {(1.0, 5.0), (1.0, 4.0), (2.0, 4.0)}


@pytest.mark.parametrize("direction", [1.0, -1.0])
def test_the_critic_finds_the_value_of_a_policy(direction: float) -> None:
    """Always right: GAMMA^(steps left). Always left: nothing, but for one step right at the end."""
    made, data = agent(policy(direction)), corridor()

    def step(at: int) -> Tensor:
        batch = data.sample(SMALL.batch, made.generator)
        return made.learn_critic(batch, made.target_of(batch))

    made.learn("critic", SMALL.steps, step, NOWHERE)
    cell = data.history.flatten()
    if direction > 0:
        after = torch.where(data.actions.flatten() > 0, cell + 1, (cell - 1).clamp(min=0))
        known = GAMMA ** (CELLS - after)
    else:
        known = data.reward
    torch.testing.assert_close(valued(made, data), known, atol=0.05, rtol=0.0)


@pytest.mark.medium
def test_the_actor_finds_the_way_out() -> None:
    """From a policy that stands still, and data that steps both ways alike."""
    made = agent(policy(0.0), cloning=0.1, deviation=0.1, caution=0.5)
    data = corridor()

    def step(at: int) -> Tensor:
        batch = data.sample(SMALL.batch, made.generator)
        loss = made.learn_critic(batch, made.target_of(batch))
        made.learn_actor(batch, made.tried(batch), at)
        return loss

    made.learn("both", SMALL.steps, step, NOWHERE)
    assert made.numbers().keys() == {"q", "target", "td_error"}
    assert 0.0 <= made.numbers()["q"] <= 1.0
    cells = torch.arange(CELLS, dtype=torch.float32).view(-1, 1, 1)
    assert made.policy(cells).min() > 0.3


def test_the_actors_loss_by_hand() -> None:
    """Where all actions are worth the same, however much, entropy and cloning are left."""
    made, data = agent(policy(0.25), cloning=3.0, deviation=0.5), corridor()
    with torch.no_grad():
        made.critic.ensemble.head.zero_()
        made.critic.ensemble.bias.fill_(0.7)
        made.temperature["log"].fill_(math.log(0.2))
    # Half of the steps cloned go right, 0.75 from what the actor does, half left.
    loss, density = made.actor_loss(data, data.actions)
    expected = 0.2 * density.mean() + 3.0 * (0.75**2 + 1.25**2) / 2
    assert loss.item() == pytest.approx(expected.item(), abs=1e-5)
    made.generator.manual_seed(0)
    noise = torch.randn(len(data), 1, generator=made.generator)
    normal = torch.distributions.Normal(0.0, 0.5).log_prob(0.5 * noise).sum(dim=1)
    made.generator.manual_seed(0)
    torch.testing.assert_close(made.actor.draw(data.history, made.generator)[2], normal)
    entropy = torch.distributions.Normal(0.0, 1.0).entropy().item()
    assert entropy == pytest.approx(NORMAL)


def test_the_critics_loss_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    """Log-odds of 0 say half; a return of 9 is taken for 1. Two critics, whose losses are added."""
    torch.manual_seed(0)
    made = SacAgent(policy(0.0), corridor(), SMALL, torch.Generator())
    data = corridor().at(torch.arange(2))
    odds = torch.zeros(SMALL.members, 2, requires_grad=True)
    monkeypatch.setattr(made.critic, "forward", lambda history, actions: odds)
    monkeypatch.setattr(made, "_step", lambda name, loss: None)
    loss = made.learn_critic(data, torch.tensor([0.25, 9.0]))
    assert loss.item() == pytest.approx(SMALL.members * math.log(2))
    assert made.numbers() == pytest.approx({"q": 0.5, "target": 4.625, "td_error": 4.375})


@pytest.mark.parametrize("kind", ["plain", "residual"])
def test_slopes_by_finite_differences(kind: str) -> None:
    base = policy(0.1)
    begun = base if kind == "plain" else Residual(base, 2.0)
    torch.manual_seed(1)
    far = replace(SMALL, deviation=0.3)  # of where it began, where what is sure has a kink
    made: SacAgent[ChunkPolicy] = SacAgent(begun, corridor(), far, torch.Generator())  # type: ignore[arg-type]
    data = corridor()
    acting = made.actor.policy
    last = (acting.net if kind == "plain" else acting.correction.net)[-1].weight

    def loss() -> Tensor:
        made.generator.manual_seed(0)  # the same draws each time
        return made.actor_loss(data, data.actions)[0]

    (slope,) = torch.autograd.grad(loss(), [last])
    for at in range(3):
        ends = []
        for by in (0.002, -0.002):
            with torch.no_grad():
                last[0, at] += by
                ends.append(loss().item())
                last[0, at] -= by
        assert slope[0, at].item() == pytest.approx((ends[0] - ends[1]) / 0.004, rel=0.03, abs=2e-3)


def test_a_residual_begins_at_its_base_which_stays() -> None:
    base = policy(0.2)
    torch.manual_seed(0)
    residual = Residual(base, reach=0.5)
    cells = torch.arange(CELLS, dtype=torch.float32).view(-1, 1, 1)
    torch.testing.assert_close(residual(cells), base(cells))
    assert not any(v.requires_grad for v in residual.base.parameters())
    with torch.no_grad():
        residual.correction.net[-1].bias.fill_(100.0)
    torch.testing.assert_close(residual(cells), base(cells) + 0.5 * base.spread)


def test_it_is_wanted_that_draws_keep_their_size() -> None:
    """The temperature rises where the actor draws less than it is to."""
    made, data = agent(policy(0.0), deviation=0.5), corridor()
    before = made.temperature["log"].item()
    with torch.no_grad():
        made.actor.log_std.fill_(math.log(0.05))
    made.learn_actor(data, data.actions, 0)
    assert made.temperature["log"].item() > before
