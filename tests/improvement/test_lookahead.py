"""The lookahead recipe and its value, on a world small enough to know the answer."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from enpire.errors import RecipeError
from enpire.improvement.behaviour_cloning import Training
from enpire.improvement.recipe import RecipeInputs
from enpire.improvement.recipes.lookahead import Lookahead
from enpire.improvement.value import Normaliser, found_later, regress, returns
from enpire.policies import ChunkPolicy, ChunkSpec
from enpire.types import Episode, Outcome, Purpose, Times, Verdict

pytestmark = pytest.mark.medium

SPEC = ChunkSpec("line", observation=1, action=1, history=1, stride=1, chunk=4, hidden=(32,))
FAST = Lookahead(
    training=Training(steps=300),
    discount=0.95,
    members=2,
    value_steps=300,
    dynamics_steps=400,
    promise_steps=300,
    tries=16,
)
BRIEF = replace(  # of what does not hang on how well it has learned
    FAST, training=Training(steps=20), value_steps=20, dynamics_steps=20, promise_steps=20
)


def walk(seed: int, length: int = 20) -> Episode:
    """A drunkard on a line; an episode succeeds when it ends near the origin."""
    rng = np.random.default_rng(seed)
    actions = np.clip(np.repeat(rng.normal(0, 0.6, -(-length // 4)), 4), -1, 1)[:length]
    start = rng.uniform(-1.5, 1.5)
    places = start + 0.1 * np.concatenate([[0.0], np.cumsum(actions)])
    outcome = Outcome.SUCCESS if abs(places[-1]) < 0.4 else Outcome.FAILURE
    return Episode(
        id=str(seed),
        task="line",
        seed=seed,
        purpose=Purpose.COLLECTION,
        policy="p",
        round=1,
        station=0,
        verdict=Verdict(outcome),
        times=Times(),
        observations=places[:-1, None].astype(np.float32),
        actions=actions[:, None].astype(np.float32),
        stamps=np.arange(length) * 0.04,
        rewards=np.zeros(length, np.float32),
    )


@pytest.fixture(scope="module")
def episodes() -> list[Episode]:
    return [walk(seed) for seed in range(150)]


def idle() -> ChunkPolicy:
    """A policy that does nothing, and explores."""
    torch.manual_seed(0)
    policy = ChunkPolicy(SPEC)
    with torch.no_grad():
        for parameter in policy.net[-1].parameters():
            parameter.zero_()
        policy.spread.fill_(0.6)
    return policy.eval()


def test_returns_are_discounted_from_the_end_and_zero_in_a_failure(episodes: list[Episode]) -> None:
    good = next(e for e in episodes if e.success)
    bad = next(e for e in episodes if not e.success)
    values = returns([good, bad], 0.5)
    assert values[19] == 1.0
    assert values[17] == 0.25
    assert not values[20:].any()


def test_value_falls_with_the_distance_from_the_goal(episodes: list[Episode]) -> None:
    rows = torch.from_numpy(np.concatenate([e.observations for e in episodes]))
    normalise = Normaliser.of(rows)
    targets = torch.from_numpy(returns(episodes, 0.95))
    torch.manual_seed(0)
    seen = normalise(rows)
    value = regress(lambda i: seen[i], targets, 32, 2, 300, torch.Generator().manual_seed(0))
    near, far = value.chance(normalise(torch.tensor([[0.0], [1.5]]))).tolist()
    assert near > far + 0.3


def test_members_of_an_ensemble_are_networks_of_their_own() -> None:
    rows = torch.linspace(-1, 1, 200)[:, None]
    torch.manual_seed(0)
    targets = (rows[:, 0] > 0).float()
    fitted = regress(lambda i: rows[i], targets, 16, 3, 50, torch.Generator().manual_seed(0))
    together = fitted(rows)
    assert together.shape == (3, 200)
    assert not torch.allclose(together[0], together[1])
    apart = fitted(torch.stack([rows, 0 * rows, rows]))
    torch.testing.assert_close(apart[[0, 2]], together[[0, 2]])
    assert not torch.allclose(apart[1], together[1])


def test_the_candidate_walks_towards_the_goal(episodes: list[Episode]) -> None:
    candidate = FAST.improve(RecipeInputs(SPEC, episodes, idle(), seed=0))
    history = np.array([[[1.0]], [[-1.0]]], np.float32)
    right, left = candidate.policy.infer(history)[:, 0, 0]
    assert right < -0.15
    assert left > 0.15
    assert candidate.numbers["gain"] > 0.0


def test_the_same_seed_gives_the_same_candidate(episodes: list[Episode]) -> None:
    one, two = (
        BRIEF.improve(RecipeInputs(SPEC, episodes, idle(), seed=3)).policy for _ in range(2)
    )
    for a, b in zip(one.parameters(), two.parameters(), strict=True):
        assert torch.equal(a, b)


def test_what_was_found_a_chunk_later_is_the_value_there_or_what_came_of_the_episode() -> None:
    chance = torch.tensor([0.1, 0.2, 0.3, 0.4, 0.5, 0.6])
    came = torch.tensor([1.0, 1.0, 1.0, 1.0, 0.0, 0.0])
    found = found_later(chance, torch.arange(6) + 2, torch.tensor([4, 2]), came)
    torch.testing.assert_close(found, torch.tensor([0.3, 0.4, 1.0, 1.0, 0.0, 0.0]))


def test_it_needs_an_incumbent_and_episodes(episodes: list[Episode]) -> None:
    with pytest.raises(RecipeError, match="bc"):
        FAST.improve(RecipeInputs(SPEC, episodes, None, seed=0))
    with pytest.raises(RecipeError, match="no episode"):
        FAST.improve(RecipeInputs(SPEC, [], idle(), seed=0))


def test_what_is_shorter_than_a_chunk_teaches_nothing() -> None:
    with pytest.raises(RecipeError, match="chunk of 4"):
        FAST.improve(
            RecipeInputs(SPEC, [walk(seed, length=4) for seed in range(4)], idle(), seed=0)
        )


def test_weights_are_renewed_when_stations_see_what_the_incumbent_never_saw(
    episodes: list[Episode],
) -> None:
    """Its normalisation squeezes all that is new into a corner."""
    fast = replace(BRIEF, training=Training(steps=1), further=Training(steps=1))
    narrow, wide = idle(), idle()
    narrow.std.fill_(0.1)
    wide.std.fill_(0.9)
    assert fast.improve(
        RecipeInputs(SPEC, episodes, wide, seed=0)
    ).policy.std.item() == pytest.approx(0.9)
    renewed = fast.improve(RecipeInputs(SPEC, episodes, narrow, seed=0)).policy
    assert 0.5 < renewed.std.item() < 1.5
    assert renewed.spread.item() == pytest.approx(0.6)
