"""What critics of chunks are taught."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from enpire.errors import RecipeError
from enpire.improvement.chunk_buffer import ChunkBuffer, Chunks
from enpire.improvement.critic_learning import CriticLearner, CriticSettings, Mix
from enpire.policies import Chooser, ChooserSpec

SHAPE = ChooserSpec(
    observation=2, lags=(0,), action=1, chunk=2, varied=(0,), width=32, critics=3, samples=2
)
QUICK = CriticSettings(batch=64, lr=3e-3, target=0.05)
PLAIN = Mix(demonstrations=0.5, followed=0.0)


def bandit(rows: int = 512) -> ChunkBuffer:
    """One chunk an episode; the larger its mean action, the more often it is a success."""
    generator = torch.Generator().manual_seed(0)
    actions = torch.rand(rows, 2, 1, generator=generator) - 0.5
    won = (torch.rand(rows, generator=generator) - 0.5 < actions.mean(dim=(1, 2))).float()
    buffer = ChunkBuffer()
    buffer.add(
        Chunks(
            seen=torch.zeros(rows, 1, 2),
            actions=actions,
            later=torch.arange(rows),
            reward=won,
            discount=torch.zeros(rows),
            followed=won,
        )
    )
    return buffer


def chain(followed: float) -> ChunkBuffer:
    """Two chunks: the first leads to the second, after which the episode is a success."""
    buffer = ChunkBuffer()
    buffer.add(
        Chunks(
            seen=torch.tensor([[[1.0, 0.0]], [[0.0, 1.0]]]),
            actions=torch.zeros(2, 2, 1),
            later=torch.tensor([1, 1]),
            reward=torch.tensor([0.0, 1.0]),
            discount=torch.tensor([0.5, 0.0]),
            followed=torch.tensor([followed, 1.0]),
        )
    )
    return buffer


def learner() -> CriticLearner:
    torch.manual_seed(0)
    return CriticLearner(Chooser(SHAPE), QUICK, torch.Generator().manual_seed(0))


def learned(buffer: ChunkBuffer, steps: int = 400, mix: Mix = PLAIN) -> CriticLearner:
    made = learner()
    for _ in range(steps):
        made.step(buffer, mix)
    return made


def values_of(made: CriticLearner, seen: Tensor, action: float = 0.0) -> list[float]:
    chunks = torch.full((len(seen), 2, 1), action)
    with torch.no_grad():
        values: list[float] = (
            made.chooser.values(made.chooser.see(seen), chunks).mean(dim=0).tolist()
        )
    return values


def test_critics_learn_what_a_chunk_is_worth() -> None:
    made = learned(bandit())
    assert values_of(made, torch.zeros(1, 1, 2), 0.4) == pytest.approx([0.9], abs=0.15)
    assert values_of(made, torch.zeros(1, 1, 2), -0.4) == pytest.approx([0.1], abs=0.15)
    assert made.numbers["loss"] < 0.25


@pytest.mark.parametrize(("share", "first"), [(0.0, 0.5), (0.5, 0.25), (1.0, 0.0)])
def test_a_target_is_the_value_of_what_was_done_next_or_the_return_that_followed(
    share: float, first: float
) -> None:
    buffer = chain(followed=0.0)
    made = learned(buffer, steps=600, mix=Mix(0.5, share))
    assert values_of(made, buffer.whole.seen) == pytest.approx([first, 1.0], abs=0.08)


def test_it_goes_on_from_what_was_kept_to_the_same_weights() -> None:
    buffer = bandit()
    whole = learned(buffer, steps=60)
    half = learned(buffer, steps=30)
    other = learner()
    other.restore(half.state())
    assert other.steps == 30
    for _ in range(30):
        other.step(buffer, PLAIN)
    assert other.numbers == whole.numbers
    for name, values in whole.chooser.state_dict().items():
        assert torch.equal(other.chooser.state_dict()[name], values), name


def test_weights_that_are_no_numbers_end_it() -> None:
    made = learner()
    with torch.no_grad():
        made.chooser.critics.biases[0].fill_(float("nan"))
    with pytest.raises(RecipeError, match="not finite"):
        made.require_finite()
