"""The chance that an attempt succeeds, learned from attempts."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from enpire.errors import RecipeError
from enpire.improvement.attempt_values import (
    UNKNOWN,
    AttemptRows,
    AttemptSettings,
    AttemptValueLearner,
)
from enpire.policies import Chooser, ChooserSpec
from enpire.policies.retracing import Path
from enpire.types import Episode, Outcome, Purpose, Verdict
from tests.store.samples import episode

SHAPE = ChooserSpec(
    observation=6,
    lags=(0,),
    action=3,
    chunk=2,
    varied=(0, 1),
    width=16,
    critics=3,
    back=1,
    margin=0.25,
)
QUICK = AttemptSettings(batch=64, lr=3e-3, ema=0.9, noise=0.0, gamma=0.9)


def judged(id: str, length: int, *, wins: bool) -> Episode:
    verdict = Verdict(Outcome.SUCCESS if wins else Outcome.FAILURE, ())
    return episode(id, length, verdict=verdict, purpose=Purpose.COLLECTION, seed=len(id))


def gave_up(id: str, *, wins: bool) -> Episode:
    """Two chunks on, one of them back, then three periods on: 9 periods."""
    on = np.random.default_rng(5).uniform(-0.4, 0.4, (9, 3)).astype(np.float32)
    path = Path(SHAPE.varied)
    path.go(on[:2])
    path.go(on[2:4])
    path.turn_back(1)
    on[4:6] = path.go_back()
    return replace(judged(id, 9, wins=wins), actions=on)


def learner(settings: AttemptSettings = QUICK) -> AttemptValueLearner:
    torch.manual_seed(0)
    return AttemptValueLearner(Chooser(SHAPE), settings, torch.Generator().manual_seed(4))


def standing_at(place: float, length: int) -> torch.Tensor:
    seen = torch.zeros(length, 6)
    seen[:, 0] = place
    return seen


def chance(made: AttemptValueLearner, seen: torch.Tensor) -> float:
    """What an attempt is given that saw this, (lags, obs)."""
    return float(made.chooser.chances(made.chooser.see(seen[None])).mean())


def test_an_attempt_ends_where_it_is_given_up_or_with_the_episode() -> None:
    rows = AttemptRows.of(gave_up("e", wins=True), SHAPE.chunk, SHAPE.varied)
    assert rows.at.tolist() == [0, 1, 2, 3, 6, 7, 8], "the way back is no part of an attempt"
    assert rows.left.tolist() == [4, 3, 2, 1, 2, 1, 0]
    assert rows.won.tolist() == [0.0, 0.0, 0.0, 0.0, 1.0, 1.0, 1.0]
    assert rows.cut.tolist() == [4, 4, 4, 4, UNKNOWN, UNKNOWN, UNKNOWN]


@pytest.mark.parametrize("wins", [True, False])
def test_a_moment_is_worth_the_discounted_share_of_its_attempts_that_succeeded(wins: bool) -> None:
    made = learner()
    for at in range(8):
        made.add(judged(f"e{at}", 3, wins=wins), standing_at(1.0, 3))
    for _ in range(400):
        made.step()
    expected = np.mean(0.9 ** np.arange(3)) if wins else 0.0
    assert chance(made, standing_at(1.0, 1)) == pytest.approx(expected, abs=0.05)


def test_giving_up_early_does_not_make_an_attempt_look_worse() -> None:
    made = learner(replace(QUICK, gamma=1.0, share=1.0))
    for at in range(8):  # at place 1 they succeed whenever they are not given up there
        made.add(judged(f"w{at}", 4, wins=True), standing_at(1.0, 4))
        # After the way back, somewhere else, they fail.
        seen = torch.cat([standing_at(1.0, 6), standing_at(-1.0, 3)])
        made.add(gave_up(f"g{at}", wins=False), seen)
    for _ in range(600):
        made.step()
    assert chance(made, standing_at(1.0, 1)) > 0.9
    assert chance(made, standing_at(-1.0, 1)) < 0.1


def test_who_has_stood_there_for_long_is_told_from_who_has_just_come() -> None:
    """By what was seen before; each episode by its own."""
    torch.manual_seed(0)
    spec = replace(SHAPE, attempt_lags=(4, 0))
    settings = replace(QUICK, gamma=1.0, share=1.0)
    made = AttemptValueLearner(Chooser(spec), settings, torch.Generator().manual_seed(4))
    for at in range(8):
        came = torch.cat([standing_at(-1.0, 3), standing_at(1.0, 4)])
        made.add(judged(f"w{at}", 7, wins=True), came)
        made.add(judged(f"l{at}", 9, wins=False), standing_at(1.0, 9))
    for _ in range(600):
        made.step()
    assert chance(made, torch.cat([standing_at(-1.0, 1), standing_at(1.0, 1)])) > 0.9
    assert chance(made, standing_at(1.0, 2)) < 0.1


def test_it_goes_on_to_the_same_weights_from_what_it_kept() -> None:
    episodes = [judged("a", 5, wins=True), gave_up("b", wins=False), judged("c", 4, wins=False)]
    made, again = learner(), learner()
    for at, each in enumerate(episodes):
        for one in (made, again):
            one.add(each, standing_at(float(at), len(each)))
    for step in range(9):
        made.step()
        if step == 3:
            again.restore(made.state())
    for _ in range(5):
        again.step()
    for one, other in zip(
        made.chooser.attempt_values.parameters(),
        again.chooser.attempt_values.parameters(),
        strict=True,
    ):
        assert torch.equal(one, other)


def test_what_is_no_number_ends_it() -> None:
    made = learner()
    bad = standing_at(1.0, 3)
    bad[1] = torch.nan
    made.add(judged("e", 3, wins=True), bad)
    for _ in range(3):
        made.step()
    with pytest.raises(RecipeError, match=r"attempt_values.* is not finite"):
        made.require_finite()
