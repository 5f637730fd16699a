"""Training keeps where it is, goes on from there, and says when it diverges."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from enpire.errors import RecipeError
from enpire.improvement.checkpoint import Checkpoint, TrainingState, digest
from enpire.improvement.learner import Learner, average, warmed_and_annealed

STEPS = 60


def made() -> tuple[Learner, Callable[[int], Tensor]]:
    """A line is fitted to noise, with a moving average of its weights and a falling rate."""
    generator = torch.Generator().manual_seed(3)
    line, slow = nn.Linear(2, 1), nn.Linear(2, 1)
    for values in (*line.parameters(), *slow.parameters()):
        nn.init.constant_(values, 0.5)
    optimiser = torch.optim.AdamW(line.parameters(), lr=0.1, fused=True)
    falling = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, STEPS)

    def step(at: int) -> Tensor:
        seen = torch.randn(8, 2, generator=generator)
        loss: Tensor = (line(seen) - seen.sum(dim=1, keepdim=True)).square().mean()
        optimiser.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimiser.step()
        falling.step()
        average(slow, line, 0.9)
        return loss

    modules = {"line": line, "slow": slow}
    return Learner(modules, {"line": optimiser}, generator, {"line": falling}), step


def weights(learner: Learner) -> list[Tensor]:
    return [v.detach().clone() for m in learner.modules.values() for v in m.parameters()]


def whole() -> tuple[list[Tensor], Tensor]:
    learner, step = made()
    learner.run("fit", STEPS, step, Checkpoint())
    return weights(learner), torch.rand(3, generator=learner.generator)


class Cut(Exception):
    """The process is gone."""


@pytest.mark.parametrize("at", [1, 17, STEPS - 1])
def test_it_goes_on_to_the_same_weights_and_draws(tmp_path: Path, at: int) -> None:
    learner, step = made()

    def until(now: int) -> Tensor:
        if now == at:
            raise Cut
        return step(now)

    with pytest.raises(Cut):
        learner.run("fit", STEPS, until, Checkpoint(tmp_path, every=0))
    again, more = made()
    began: list[int] = []

    def counted(now: int) -> Tensor:
        began.append(now)
        return more(now)

    again.run("fit", STEPS, counted, Checkpoint(tmp_path, every=0))
    assert began[0] == at
    expected, drawn = whole()
    for one, other in zip(weights(again), expected, strict=True):
        assert torch.equal(one, other)
    assert torch.equal(torch.rand(3, generator=again.generator), drawn)


def test_what_is_done_is_not_done_again(tmp_path: Path) -> None:
    learner, step = made()
    loss = learner.run("fit", STEPS, step, Checkpoint(tmp_path))
    again, _ = made()

    def never(now: int) -> Tensor:
        raise AssertionError

    assert again.run("fit", STEPS, never, Checkpoint(tmp_path)) == loss
    assert torch.equal(weights(again)[0], weights(learner)[0])


@pytest.mark.parametrize("fault", ["another training", "damaged", "another stage"])
def test_what_does_not_fit_is_not_taken(tmp_path: Path, fault: str) -> None:
    Checkpoint(tmp_path, of="a").keep("fit", TrainingState({"x": torch.ones(2)}, {"done": 3}))
    kept = Checkpoint(tmp_path, of="a").find("fit")
    assert kept is not None
    assert (kept.state, kept.tensors["x"].tolist()) == ({"done": 3}, [1.0, 1.0])
    if fault == "damaged":
        (path,) = tmp_path.iterdir()
        path.write_bytes(path.read_bytes()[:-3])
    checkpoint = Checkpoint(tmp_path, of="b" if fault == "another training" else "a")
    assert checkpoint.find("other" if fault == "another stage" else "fit") is None


def test_it_keeps_where_it_is_from_time_to_time(tmp_path: Path) -> None:
    now = 0.0
    checkpoint = Checkpoint(tmp_path, every=10.0, clock=lambda: now)
    assert not checkpoint.due
    now = 10.0
    assert checkpoint.due
    checkpoint.keep("fit", TrainingState({}, {}))
    assert not checkpoint.due
    assert not Checkpoint(every=0.0).due


@pytest.mark.parametrize("where", ["loss", "weights"])
def test_divergence_is_said(where: str) -> None:
    learner, step = made()

    def bad(at: int) -> Tensor:
        loss = step(at)
        if where == "loss":
            return loss * float("nan")
        with torch.no_grad():
            next(learner.modules["line"].parameters()).fill_(float("inf"))
        return torch.tensor(1.0)

    words = "fit diverged at step 0" if where == "loss" else "the weights of line are not finite"
    with pytest.raises(RecipeError, match=words):
        learner.run("fit", 3, bad, Checkpoint())


def test_a_digest_says_what_a_training_is_made_from() -> None:
    assert digest("a", 1) == digest("a", 1)
    assert digest("a", 1) != digest("a", 2)


def test_a_rate_is_warmed_up_and_then_annealed_to_nothing() -> None:
    optimiser = torch.optim.SGD(nn.Linear(1, 1).parameters(), lr=2.0)
    schedule = warmed_and_annealed(optimiser, 100)
    rates = []
    for _ in range(100):
        rates.append(optimiser.param_groups[0]["lr"])
        optimiser.step()
        schedule.step()
    assert rates[0] == pytest.approx(1.0)  # of two steps up
    assert max(rates) == rates[1] == pytest.approx(2.0, rel=1e-3)
    assert rates[50] == pytest.approx(1.0)
    assert rates[1:] == sorted(rates[1:], reverse=True)
    assert rates[-1] < 1e-3


def test_what_another_version_kept_of_another_shape_is_refused_with_a_sentence() -> None:
    kept = made()[0].kept(3)
    learner, _ = made()
    other = Learner({**learner.modules, "line": nn.Linear(5, 1)}, {}, torch.Generator())
    with pytest.raises(RecipeError, match="what was kept of line has another shape"):
        other.resume(kept)
