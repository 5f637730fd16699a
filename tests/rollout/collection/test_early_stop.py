"""Early ends: what they promise holds on episodes whose true chances are known."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import special

from enpire.rollout.collection import early_stop as aborts
from enpire.rollout.collection.early_stop import (
    FALSE,
    HOPELESS,
    EarlyStop,
    EarlyStopTally,
    false_aborts_allowed,
    learn_abort,
    let_run,
    platt,
    threshold,
)
from enpire.rollout.evaluation.statistics import lower_bound
from enpire.types import Episode, Outcome, Purpose, Verdict
from tests.store.samples import episode

PERIODS = 32


def walks(number: int, seed: int, purpose: Purpose = Purpose.EVALUATION) -> list[Episode]:
    """Episodes whose success hangs on where they have drifted to, and which say so ever better.

    All of them last as long, so that only what is seen tells.
    """
    rng = np.random.default_rng(seed)
    made = []
    for i in range(number):
        merit = rng.normal()
        good = rng.random() < special.expit(4.0 * merit)
        time = np.linspace(0.0, 1.0, PERIODS)
        seen = np.stack([merit * time, rng.normal(size=PERIODS)], axis=1)
        seen += 0.1 * rng.normal(size=seen.shape)
        made.append(
            episode(
                f"walk-{seed}-{i}",
                PERIODS,
                seed=seed * 1000 + i,
                purpose=purpose,
                verdict=Verdict(Outcome.SUCCESS if good else Outcome.FAILURE),
                observations=seen.astype(np.float32),
            )
        )
    return made


@pytest.fixture(scope="module")
def learned() -> EarlyStop:
    found = learn_abort(walks(400, 1), PERIODS, 0)
    assert found is not None
    return found


def test_few_successes_are_ended_and_most_failures(learned: EarlyStop) -> None:
    fresh = walks(600, 2)
    good = [learned.ends(e) for e in fresh if e.success]
    bad = [learned.ends(e) for e in fresh if not e.success]
    assert np.mean(good) <= FALSE + 0.02  # 95% sure of FALSE when held out; 300 are counted here
    assert np.mean(bad) > 0.5


def test_what_is_ended_is_hopeless(learned: EarlyStop) -> None:
    ended = [e for e in walks(600, 3) if learned.ends(e)]
    assert np.mean([e.success for e in ended]) < HOPELESS


def test_the_reason_says_when_and_how_unlikely(learned: EarlyStop) -> None:
    assert learned(np.array([0.0, 0.0], np.float32), 0.5) is None
    reason = learned(np.array([-2.0, 0.0], np.float32), 0.75)
    assert reason is not None
    assert reason.startswith("given up after 75% of the time: the chance of success is 0.0")


def test_the_same_episodes_teach_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(aborts, "STEPS", 20)
    one, two = (learn_abort(walks(400, 1), PERIODS, 0) for _ in range(2))
    assert one is not None
    assert two is not None
    assert (one.least, one.slope, one.shift) == (two.least, two.slope, two.shift)


@pytest.mark.parametrize(
    "episodes",
    [
        walks(100, 4),
        walks(400, 5, Purpose.DEMONSTRATION),
        [e for e in walks(400, 6) if e.success],
        [e for e in walks(400, 7, Purpose.COLLECTION) if not let_run(e.seed)],
        [],
    ],
    ids=["too few", "demonstrations", "no failure", "might have been ended", "none"],
)
def test_who_cannot_say_ends_nothing(episodes: list[Episode]) -> None:
    assert learn_abort(episodes, PERIODS, 0) is None


@pytest.mark.parametrize(
    ("successes", "allowed"), [(0, None), (58, None), (59, 0), (92, 0), (93, 1), (400, 12)]
)
def test_false_aborts_are_allowed_as_far_as_can_be_shown(
    successes: int, allowed: int | None
) -> None:
    found = false_aborts_allowed(successes)
    assert found == allowed
    if found is not None:
        assert lower_bound(successes - found, successes) >= 1 - FALSE
        assert lower_bound(successes - found - 1, successes) < 1 - FALSE


def test_the_rate_of_false_aborts_is_kept_with_95_percent(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever scores are worth: of 2000 thresholds from 200 successes, few end more than 5%."""
    rng = np.random.default_rng(0)
    allowed = false_aborts_allowed(200)
    assert allowed is not None
    scores = rng.uniform(size=(2000, 200))  # a threshold then is its own rate of false aborts
    rates = np.array([threshold(of[:, None], allowed) for of in scores])
    assert (rates > FALSE).mean() <= 0.05 + 0.015


def test_a_success_that_is_never_asked_about_is_never_ended() -> None:
    assert threshold([np.zeros(0), np.array([0.3, 0.1])], 0) == pytest.approx(0.1)


def test_platt_scaling_finds_what_scores_are_worth() -> None:
    rng = np.random.default_rng(0)
    scores = rng.normal(size=20_000)
    won = rng.random(20_000) < special.expit(1.5 * scores - 0.5)
    slope, shift = platt(scores, won)
    assert slope == pytest.approx(1.5, abs=0.1)
    assert shift == pytest.approx(-0.5, abs=0.05)


def test_what_was_let_run_says_how_often_the_end_would_have_been_false(
    learned: EarlyStop, monkeypatch: pytest.MonkeyPatch
) -> None:
    fresh = walks(200, 8, Purpose.COLLECTION)
    tested = [e for e in fresh if let_run(e.seed)]
    monkeypatch.setattr(
        aborts.EarlyStop, "ends", lambda self, e: e.id in {tested[0].id, tested[1].id}
    )
    ended = episode("ended", verdict=Verdict(Outcome.ABORTED), seed=1)
    tally = EarlyStopTally.of(learned, [*fresh, ended])
    assert tally == EarlyStopTally(
        ended=1,
        let_run=40,
        caught=2,
        successes=sum(e.success for e in tested),
        false=tested[0].success + tested[1].success,
    )
    assert str(tally).startswith("1 ended early; of 40 that were let run 2 would have been")
