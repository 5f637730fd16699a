"""What a run has so far, at hand: episodes, policies, and the controllers that act by them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache

from enpire.environment import Controller, Job, StationBackend
from enpire.policies import Policy, ProgramPolicy, load
from enpire.policies.asynchronous import live_controller
from enpire.rollout.evaluation.statistics import estimate
from enpire.store import Run
from enpire.types import JUDGED, Episode, Estimate, Purpose

MOST_BYTES = 4 << 20
"""Of arrays of new episodes that stay in memory; the others are read from the store.

So much is some 800 episodes of a small task, soon full: a loop of days then holds what one of an
hour does. With 256 MiB it grew by 11 KB an episode for some 50,000 of them.
"""

POLICIES = 3  # that stay in memory, those that were asked for last: incumbent, candidate, base


class EpisodeCache:
    """The episodes of one run, by id.

    New ones are held whole until they are many. What is recorded of them by then is held without
    its arrays, which the store has (`enpire.store.stored_episode`).
    """

    def __init__(
        self,
        run: Run,
        stations: StationBackend,
        acts: Callable[[Policy, str], Controller] | None = None,
    ) -> None:
        """acts: makes what acts, of a policy and its name; without it, the policy's controller."""
        self.episodes: dict[str, Episode] = {}
        self._whole: set[str] = set()
        self._bytes = 0
        self._run = run
        self._acts = acts or (lambda policy, name: live_controller(policy, stations))
        self._latest_policies = lru_cache(POLICIES)(self._loaded)
        self._latest_controllers = lru_cache(POLICIES)(self._acting)

    def read(self) -> None:
        """Take all episodes that are in the store, without their arrays."""
        self.episodes.update((e.id, e) for e in self._run.episodes(without=None))

    def add(self, episode: Episode) -> None:
        """One more."""
        self.episodes[episode.id] = episode
        self._whole.add(episode.id)
        self._bytes += _bytes_of(episode)
        if self._bytes > MOST_BYTES:
            self._let_go()

    def _let_go(self) -> None:
        """Hold without their arrays all new episodes that are recorded."""
        recorded = self._run.episodes_of(self._whole)
        self.episodes.update(recorded)
        self._whole -= recorded.keys()
        self._bytes = sum(_bytes_of(self.episodes[id]) for id in self._whole)

    def missing(self, jobs: Iterable[Job | None]) -> Iterator[Job | None]:
        """The jobs whose episodes are not in the store, and None where none is due."""
        return (job for job in jobs if job is None or job.id not in self.episodes)

    def evaluations(self, name: str) -> list[Episode]:
        """The evaluations of a policy, as far as they were judged; sealed ones are none."""
        return [
            e
            for e in self.episodes.values()
            if e.policy == name and e.purpose is Purpose.EVALUATION and e.verdict.outcome in JUDGED
        ]

    def success(self, name: str) -> Estimate:
        """The success of a policy in its evaluations."""
        judged = [e.success for e in self.evaluations(name)]
        return estimate(sum(judged), len(judged))

    def told_before(self, number: int) -> list[Episode]:
        """What a collection of round `number` may learn from, in the order of ids.

        No sealed episode is, and none that tells nothing.
        """
        earlier = (
            e
            for e in self.episodes.values()
            if e.tells and e.round < number and e.purpose is not Purpose.SEALED
        )
        return sorted(earlier, key=lambda e: e.id)

    def collected(self, number: int) -> int:
        """How many episodes a round has collected, also before the run was resumed."""
        collection = (number, Purpose.COLLECTION)
        return sum((e.round, e.purpose) == collection for e in self.episodes.values())

    def policy(self, name: str) -> Policy:
        """That the run has under this name."""
        return self._latest_policies(name)

    def controller(self, name: str) -> Controller:
        """That has a policy act; for one that is a program, a process of its own each time."""
        if isinstance(self.policy(name), ProgramPolicy):
            return self._acting(name)
        return self._latest_controllers(name)

    def _loaded(self, name: str) -> Policy:
        tensors, said = self._run.load_policy(name)
        return load(said, tensors)

    def _acting(self, name: str) -> Controller:
        return self._acts(self.policy(name), name)


def _bytes_of(episode: Episode) -> int:
    """How much an episode's largest arrays take, with what the verifier's cameras saw."""
    seen = sum(frame.image.nbytes for frame in episode.verdict.frames)
    return episode.observations.nbytes + episode.actions.nbytes + episode.pictures.nbytes + seen
