"""Blocks of episodes under versions of a policy: which, in what order, and when it is enough."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import count
from typing import Any

import pytest

from enpire.environment import Job
from enpire.policies import Policy
from enpire.rollout.collection.online import BLOCK, LAG, RECENT, OnlineCollection, blocks_of
from enpire.types import Episode, Outcome, Verdict
from tests.store.samples import episode


class Learner:
    """Publishes a version once it was handed a block, if it is not held up."""

    def __init__(self) -> None:
        self.handed: list[list[str]] = []
        self.held_up = False
        self.slow = 0  # blocks that it has not learned from yet

    def hand_over(self, ids: Sequence[str]) -> None:
        self.handed.append(list(ids))

    def newest(self) -> int:
        return 0 if self.held_up else max(len(self.handed) - self.slow, 0)

    def has(self, version: int) -> bool:
        return version <= self.newest()

    def policy(self, version: int) -> Any:
        return version


class Bench:
    """A collection, and stations that run several of its jobs at a time."""

    def __init__(self, known: dict[str, Episode] | None = None, **changed: Any) -> None:
        self.learner, self.known = Learner(), known if known is not None else {}
        self.acted: list[int] = []
        self.flushed = 0
        given: dict[str, Any] = {
            "learning": self.learner,
            "before": 0,
            "known": self.known,
            "flush": self._flush,
            "start": 0,
            "acts": self._acts,
            "round": 1,
            "seeds": count(100),
            "most": 5 * BLOCK,
            "good": 0.99,
        }
        self.collection = OnlineCollection(**given | changed)

    def _flush(self) -> None:
        self.flushed += 1

    def _acts(self, policy: Policy) -> Any:
        return policy

    def run(
        self, stations: int = 4, wins: Callable[[int], bool] = lambda at: False, last: int = 10**9
    ) -> list[Job]:
        """Run the jobs, `stations` at a time; wins: whether the nth episode is a success."""
        busy: list[Job] = []
        done: list[Job] = []
        for job in self.collection.jobs():
            if job is not None and job.id not in self.known:
                busy.append(job)
                done.append(job)
            if busy and (job is None or len(busy) == stations):
                ended = busy.pop(0)
                self.known[ended.id] = episode_of(ended, wins=wins(len(self.known)))
            if len(done) == last:
                break
        return done


def episode_of(job: Job, *, wins: bool) -> Episode:
    verdict = Verdict(Outcome.SUCCESS if wins else Outcome.FAILURE, ())
    return episode(
        job.id,
        purpose=job.purpose,
        policy=job.policy,
        round=job.round,
        seed=job.seed,
        verdict=verdict,
    )


def versions(jobs: Sequence[Job]) -> list[int]:
    return [int(job.policy.removeprefix("policy-1.")) for job in jobs]


@pytest.mark.parametrize("stations", [1, 4, 8])
def test_a_block_acts_by_what_was_learned_from_all_blocks_but_the_last_few(stations: int) -> None:
    bench = Bench()
    jobs = bench.run(stations)
    assert len(jobs) == 5 * BLOCK
    expected = [max(block - LAG, 0) for block in range(5) for _ in range(BLOCK)]
    assert versions(jobs) == expected, "however many stations there are"
    assert [job.controller for job in jobs] == expected
    assert [job.staleness for job in jobs] == [at // BLOCK - v for at, v in enumerate(expected)]
    assert bench.learner.handed == [
        [job.id for job in jobs[begin : begin + BLOCK]] for begin in range(0, len(jobs), BLOCK)
    ]
    assert bench.flushed == 5, "what is handed over is in the store"


def test_blocks_are_handed_over_in_order_whichever_episode_ends_first() -> None:
    bench = Bench(most=2 * BLOCK)
    jobs = _at_once(bench, 2 * BLOCK)
    for job in reversed(jobs):
        assert bench.learner.handed == []
        bench.known[job.id] = episode_of(job, wins=True)
        bench.collection._hand_over()
        if job is jobs[0]:
            break
    assert [len(ids) for ids in bench.learner.handed] == [BLOCK, BLOCK]
    assert bench.learner.handed[0][0] == jobs[0].id


def _at_once(bench: Bench, jobs: int) -> list[Job]:
    drawn = bench.collection.jobs()
    return [job for job in (next(drawn) for _ in range(jobs)) if job is not None]


def test_stations_wait_for_a_version_that_is_late() -> None:
    bench = Bench()
    bench.learner.held_up = True
    jobs = bench.collection.jobs()
    begun = [next(jobs) for _ in range((LAG + 1) * BLOCK)]
    assert {job.policy for job in begun if job} == {"policy-1.0"}, "which is there from the outset"
    assert [next(jobs) for _ in range(3)] == [None] * 3
    for job in begun:
        assert job is not None
        bench.known[job.id] = episode_of(job, wins=True)
    assert next(jobs) is None
    bench.learner.held_up = False
    first = next(jobs)
    assert first is not None
    assert first.policy == "policy-1.1"


def test_on_the_clock_of_the_wall_a_block_acts_by_the_newest_version() -> None:
    bench = Bench(live=True)
    bench.learner.slow = 1
    jobs = bench.run(stations=1)
    assert versions(jobs)[::BLOCK] == [0, 0, 1, 2, 3]
    assert {job.staleness for job in jobs[BLOCK:]} == {1}
    quick = Bench(live=True).run(stations=1)
    assert versions(quick)[::BLOCK] == [0, 1, 2, 3, 4]


def test_what_was_cut_short_goes_on_with_the_same_jobs() -> None:
    whole = Bench().run()
    begun = Bench()
    before = begun.run(last=2 * BLOCK + 3)
    again = Bench(known=begun.known)
    after = again.run()
    assert [job.id for job in before] == [job.id for job in whole[: len(before)]]
    ids = [job.id for job in whole]
    assert again.learner.handed == [ids[at : at + BLOCK] for at in range(0, len(ids), BLOCK)]
    assert {job.id for job in after} | set(begun.known) == set(ids)


def test_a_learner_that_has_learned_from_many_blocks_is_handed_them_before_it_answers() -> None:
    """Its first versions are gone by then; to wait for one would be to wait for ever."""

    class GoesOn(Learner):
        def newest(self) -> int:
            return len(self.handed) if len(self.handed) >= 12 else 0

        def has(self, version: int) -> bool:
            return self.newest() - 8 < version <= self.newest()

    whole = Bench(most=16 * BLOCK).run()
    again = Bench(most=16 * BLOCK)
    again.known.update({job.id: episode_of(job, wins=False) for job in whole[: 14 * BLOCK + 3]})
    again.collection.learning = GoesOn()
    rest: list[Job] = []
    for job in again.collection.jobs():
        assert job is not None or len(rest) == 2 * BLOCK, "it waits for a version that is gone"
        if job is not None and job.id not in again.known:
            rest.append(job)
            again.known[job.id] = episode_of(job, wins=False)
    assert [job.id for job in rest] == [job.id for job in whole[14 * BLOCK + 3 :]]


def test_a_block_of_the_walls_clock_that_was_cut_short_goes_on_under_its_own_version() -> None:
    begun = Bench(live=True)
    begun.learner.slow = 1
    before = begun.run(last=3 * BLOCK - 1)
    again = Bench(known=begun.known, live=True)
    jobs = again.run()
    ids = [job.id for job in before]
    assert again.learner.handed[2][:-1] == ids[2 * BLOCK :], "though a newer version is there"
    assert versions(jobs)[-1] == 3, "for later blocks it counts"


def test_it_ends_when_the_latest_episodes_are_good() -> None:
    bench = Bench(most=100 * BLOCK)
    jobs = bench.run(wins=lambda at: at >= 40)
    needed = 40 + RECENT - 1  # episodes until 99 of 100 are successes
    blocks = -(-needed // BLOCK) + LAG
    assert len(jobs) == blocks * BLOCK, "the last blocks were under way by then"
    assert len(bench.learner.handed) == blocks
    assert bench.collection.recent.rate == 1.0
    assert len(Bench(most=100 * BLOCK).run()) == 100 * BLOCK, "or when there are as many as may be"


def test_blocks_of_earlier_rounds_are_found_again_and_count() -> None:
    first = Bench()
    jobs = first.run()
    found = list(blocks_of(first.known, 1, count(100)))
    assert found == first.learner.handed
    assert list(blocks_of(first.known, 2, count(100))) == []
    second = Bench(known=first.known, before=5, round=2, seeds=count(900))
    second.learner.handed = list(found)
    later = second.run()
    assert later[0].policy == "policy-2.3"
    assert not {job.id for job in later} & {job.id for job in jobs}


def test_who_starts_acts_until_the_round_begins_and_its_learner_is_handed_all() -> None:
    bench = Bench(learning=None, live=True, early=True)

    def wins(at: int) -> bool:
        if at == 2 * BLOCK:  # the round begins
            assert not bench.learner.handed
            bench.collection.learning, bench.collection.early = bench.learner, False
        return False

    done = bench.run(wins=wins)
    assert {job.policy for job in done[: 2 * BLOCK]} == {"policy-1.0"}
    assert done[-1].policy == "policy-1.3"
    ids = [id for block in bench.learner.handed for id in block]
    assert ids == [job.id for job in done]


def test_a_block_that_another_learner_began_is_completed_by_this_one() -> None:
    earlier = Bench(live=True, before=9)
    earlier.learner.handed = [[]] * 9
    earlier.run(last=BLOCK // 2)
    assert {e.policy for e in earlier.known.values()} == {"policy-1.9"}
    bench = Bench(known=dict(earlier.known), live=True)
    bench.run()
    assert len(bench.learner.handed) == 5
    assert {bench.known[id].policy for id in bench.learner.handed[0]} == {
        "policy-1.9",
        "policy-1.0",
    }
    seeds = [e.seed for e in bench.known.values()]
    assert len(seeds) == len(set(seeds)) == 5 * BLOCK


def test_more_stations_than_a_version_lags_behind_end_a_round_in_time() -> None:
    bench = Bench(live=True, most=40 * BLOCK, good=0.9)
    done = bench.run(stations=6 * BLOCK, wins=lambda at: True)
    assert RECENT < len(done) < 40 * BLOCK
