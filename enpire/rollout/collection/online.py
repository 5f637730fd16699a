"""Collecting for a learner that learns meanwhile: blocks of episodes, each under one version.

Version 0 is the policy to improve as it is; version k has learned from the first k blocks. They are
bound to blocks, not to time: a block's episodes act by the version that has learned from all blocks
but the last few. So a run repeats to the bit, whatever was slow in it, on one
station or on eight, and one that was killed goes on to the same weights. Stations wait for a
version that is late, which costs no robot time where a twin runs free. On the clock of the wall
they wait for nothing: a block acts by the newest version there is when it begins. There a round's
collection may begin before the round does, and before its learner is there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Protocol

from enpire.environment import Controller, Job
from enpire.environment.core.jobs import episode_id
from enpire.policies import Policy
from enpire.rollout.evaluation.statistics import estimate
from enpire.types import JUDGED, Episode, Estimate, Purpose

BLOCK = 8  # episodes
LAG = 2  # blocks that a version has not learned from yet when its episodes begin
RECENT = 100  # episodes by which it is told how good a learner is now


class LearnerHandle(Protocol):
    """What a collection needs of a learner; see `OnlineProcess`."""

    def hand_over(self, ids: Sequence[str]) -> None: ...

    def newest(self) -> int: ...

    def has(self, version: int) -> bool: ...

    def policy(self, version: int) -> Policy: ...


@dataclass(slots=True)
class OnlineCollection:
    """One round's collection."""

    learning: LearnerHandle | None  # the learner, which is handed blocks; None: not there yet
    before: int  # blocks that it was handed in earlier rounds
    # All episodes of the run so far, by id, to which those that end are added.
    known: Mapping[str, Episode]
    flush: Callable[[], None]  # has all that ended in the store
    start: Controller  # acts by version 0
    acts: Callable[[Policy], Controller]  # makes what acts by another
    # round, seeds: of its episodes
    round: int
    seeds: Iterator[int]
    most: int  # of them, at least one block
    good: float  # success of the latest ones that ends it sooner
    live: bool = False  # stations wait for no version
    early: bool = False  # the round has not begun: nothing is handed over yet
    _ids: list[list[str]] = field(default_factory=list)  # of the blocks begun
    _handed: int = 0  # of these blocks, over to the learner

    def jobs(self) -> Iterator[Job | None]:
        """Yield the round's jobs; None while a version or an episode is still to come."""
        begun = {e.seed: e.policy for e in collected(self.known, self.round)}
        for block in range(max(self.most // BLOCK, 1)):
            due = max(self.before + block - LAG, 0)
            seeds = list(islice(self.seeds, BLOCK))
            names = [begun[seed] for seed in seeds if seed in begun]  # of a run that is continued
            # A block that is whole needs no version. Old ones are gone, and a learner that goes on
            # from what it kept answers only once it was handed all that it had learned from.
            while len(names) < BLOCK and not self._ready(due):
                yield None
            if self._enough(block - LAG):
                break
            version = version_of(names[0]) if names else self._version(due)
            if self.live and not self._has(version):  # of a learner that was given up, or long ago
                version = self._version(due)
            yield from self._block(block, seeds, version, begun)
        while self._handed < len(self._ids):
            yield None
            self._hand_over()

    @property
    def recent(self) -> Estimate:
        """Success of the latest episodes that were handed over."""
        return self._success(self._handed)

    def _version(self, due: int) -> int:
        if not self.live:
            return due
        return self.learning.newest() if self.learning else 0

    def _has(self, version: int) -> bool:
        return self.learning.has(version) if self.learning else version == 0

    def _ready(self, due: int) -> bool:
        self._hand_over()
        return self.live or self._has(due)

    def _block(
        self, block: int, seeds: Sequence[int], version: int, begun: Mapping[int, str]
    ) -> Iterator[Job | None]:
        """Yield the jobs of a block; begun: policies of episodes that there are, by seed."""
        name = f"policy-{self.round}.{version}"
        names = [begun.get(seed, name) for seed in seeds]
        ids = [
            episode_id(Purpose.COLLECTION, self.round, *each)
            for each in zip(names, seeds, strict=True)
        ]
        self._ids.append(ids)
        if all(id in self.known for id in ids):
            return
        controller = self.start
        if self.learning and version:
            controller = self.acts(self.learning.policy(version))
        stale = self.before + block - version
        for seed, id in zip(seeds, ids, strict=True):
            if id in self.known:
                continue
            yield Job(
                seed, Purpose.COLLECTION, controller, name, self.round, staleness=max(stale, 0)
            )
            self._hand_over()

    def _hand_over(self) -> None:
        """Hand over the blocks whose episodes have all ended, in order."""
        while self.learning and not self.early and self._handed < len(self._ids):
            ids = self._ids[self._handed]
            if not all(id in self.known for id in ids):
                return
            self.flush()
            self.learning.hand_over(ids)
            self._handed += 1

    def _enough(self, blocks: int) -> bool:
        """Whether the latest episodes of the first so many blocks say that it is good."""
        seen = self._success(max(blocks, 0))
        return seen.trials >= RECENT and seen.rate >= self.good

    def _success(self, blocks: int) -> Estimate:
        ids = (id for block in self._ids[:blocks] for id in block)
        # On the clock of the wall, more blocks may be under way than versions lag behind.
        return _latest(self.known[id] for id in ids if id in self.known)


def recent(episodes: Mapping[str, Episode], round: int, seeds: Iterator[int]) -> Estimate:
    """Return success of the latest episodes that a round has collected; seeds: the round's."""
    return _latest(episodes[id] for ids in blocks_of(episodes, round, seeds) for id in ids)


def _latest(episodes: Iterable[Episode]) -> Estimate:
    judged = [e.success for e in episodes if e.verdict.outcome in JUDGED][-RECENT:]
    return estimate(sum(judged), len(judged))


def version_of(policy: str) -> int:
    """Return the version that an episode's policy was: 12 of `policy-1.12`."""
    return int(policy.rpartition(".")[2])


def blocks_of(
    episodes: Mapping[str, Episode], round: int, seeds: Iterator[int]
) -> Iterator[list[str]]:
    """Yield the ids of the blocks that a round has collected, in order; seeds: the round's."""
    ids = {e.seed: e.id for e in collected(episodes, round)}
    while True:
        block = list(islice(seeds, BLOCK))
        if not all(seed in ids for seed in block):
            return
        yield [ids[seed] for seed in block]


def collected(episodes: Mapping[str, Episode], round: int) -> Iterator[Episode]:
    """Yield a round's collected episodes, those that were cut short apart."""
    for episode in episodes.values():
        if (episode.purpose, episode.round) == (
            Purpose.COLLECTION,
            round,
        ) and episode.id == episode_id(Purpose.COLLECTION, round, episode.policy, episode.seed):
            yield episode
