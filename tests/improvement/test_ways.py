"""Ways to act, and which of them is best by what came of it."""

from __future__ import annotations

import pytest

from enpire.improvement.ways import WAYS, WITHOUT_BACK, Way, WaysTried
from enpire.policies import ChooserSpec

SHAPE = ChooserSpec(observation=2, lags=(0,), action=1, chunk=4, varied=(0,), back=2, patience=9)


def tried(chances: list[float], blocks: int) -> WaysTried:
    """After blocks of ten episodes, of which as many succeed as the way's chance says."""
    ways = WaysTried(WAYS[: len(chances)], seed=1)
    for _ in range(blocks):
        ways.go_on()
        won = round(10 * chances[ways.taken[-1]])
        ways.count(len(ways.taken) - 1, won, 10 - won)
    return ways


def test_a_way_says_how_a_policy_acts() -> None:
    assert Way(True, False).spec(SHAPE, 7, 0.1).tries == 0.1
    by_clock = Way(True, True).spec(SHAPE, 7, 0.1)
    assert (by_clock.chooses, by_clock.again, by_clock.tries) == (True, 7, 0.0)
    alone = Way(False, False).spec(SHAPE, 7, 0.1)
    assert (alone.chooses, alone.again, alone.tries) == (False, 0, 0.0)


@pytest.mark.parametrize("best", range(4))
def test_the_best_way_is_found_and_taken_most_often(best: int) -> None:
    chances = [0.5] * 4
    chances[best] = 0.9
    ways = tried(chances, blocks=30)
    assert ways.best == WAYS[best]
    assert ways.taken[10:].count(best) > len(ways.taken[10:]) / 2


def test_before_anything_came_of_it_critics_choose() -> None:
    assert WaysTried(WAYS, seed=0).best == WaysTried(WAYS, seed=0).now == Way(True, False)
    assert all(not way.by_clock for way in WITHOUT_BACK)


def test_what_came_of_the_incumbent_or_of_another_policy_counts_for_no_way() -> None:
    ways = WaysTried(WAYS, seed=0)
    for version in (0, -1, 5):
        ways.count(version, 8, 0)
    assert ways.won.sum() == ways.lost.sum() == 0.0


def test_what_a_way_was_worth_long_ago_is_forgotten() -> None:
    ways = WaysTried(WITHOUT_BACK, seed=0)
    ways.go_on()
    taken = ways.taken[1]
    ways.count(1, 8, 0)
    for _ in range(300):
        ways.count(0, 0, 0)
    assert ways.won[taken] < 0.01


def test_it_goes_on_from_where_it_was() -> None:
    ways = tried([0.3, 0.7], blocks=6)
    again = WaysTried(WAYS[:2], seed=1)
    again.restore(ways.state())
    for each in (ways, again):
        each.go_on()
    assert again.state() == ways.state()
