"""What a run has so far, at hand: episodes, policies, and the controllers that act by them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from enpire.environment import Controller, Job, Workcells
from enpire.policies import Policy, load
from enpire.store import Run
from enpire.types import JUDGED, Episode, Purpose


class Known:
    """Of one run. episodes: by id."""

    def __init__(
        self,
        run: Run,
        stations: Workcells,
        acts: Callable[[Controller, str], Controller] = lambda inner, name: inner,
    ) -> None:
        """acts: what acts instead of a policy's controller, of that name."""
        self.episodes: dict[str, Episode] = {}
        self._run, self._stations, self._acts = run, stations, acts
        self._policies: dict[str, Policy] = {}
        self._controllers: dict[str, Controller] = {}

    def read(self) -> None:
        """Read all episodes that are in the store, without what they saw."""
        self.episodes.update((e.id, e) for e in self._run.episodes(without=None))

    def add(self, episode: Episode) -> None:
        """One more."""
        self.episodes[episode.id] = episode

    def missing(self, jobs: Iterable[Job]) -> Iterator[Job]:
        """Those whose episodes are not in the store."""
        return (job for job in jobs if job.id not in self.episodes)

    def evaluations(self, name: str) -> list[Episode]:
        """Of a policy, as far as they were judged; sealed ones are none."""
        return [
            e
            for e in self.episodes.values()
            if e.policy == name and e.purpose is Purpose.EVALUATION and e.verdict.outcome in JUDGED
        ]

    def policy(self, name: str) -> Policy:
        """That the run has under this name."""
        if name not in self._policies:
            tensors, said = self._run.load_policy(name)
            self._policies[name] = load(said, tensors)
        return self._policies[name]

    def controller(self, name: str) -> Controller:
        """That has a policy act."""
        if name not in self._controllers:
            inner = self.policy(name).controller(self._stations)
            self._controllers[name] = self._acts(inner, name)
        return self._controllers[name]
