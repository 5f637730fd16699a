"""A candidate against another policy on the same fresh seeds, until a test decides."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from enpire.environment import Controller, Job
from enpire.rollout.comparison import EXTENSION, Decision, PairedRecord, decide
from enpire.types import JUDGED, Episode, Purpose


@dataclass(slots=True)
class Match:
    """One comparison: what it asks for, and what came of it so far.

    controllers: of both policies, the candidate's first. round: of its episodes. seeds: fresh ones,
    endless. alpha, max_pairs: see `decide`.
    """

    candidate: str
    opponent: str
    controllers: Mapping[str, Controller]
    round: int
    seeds: Iterator[int]
    alpha: float
    max_pairs: int
    _drawn: list[int] = field(default_factory=list)
    _outcome: dict[tuple[str, int], Episode] = field(default_factory=dict)

    def jobs(self) -> Iterator[Job]:
        """Pairs of jobs, until the test has decided."""
        while self.decision is Decision.CONTINUE:
            if len(self._drawn) >= 2 * EXTENSION * self.max_pairs:
                return  # half of the pairs could not be judged: no reason to promote
            seed = next(self.seeds)
            self._drawn.append(seed)
            for name in (self.candidate, self.opponent):
                yield Job(seed, Purpose.EVALUATION, self.controllers[name], name, self.round)

    def add(self, episode: Episode) -> None:
        """Tell it of an episode; those that are not its own change nothing."""
        if episode.purpose is Purpose.EVALUATION and episode.round == self.round:
            self._outcome[episode.policy, episode.seed] = episode

    @property
    def record(self) -> PairedRecord:
        """The leading pairs that are complete, in the order their seeds were drawn.

        Up to the one that decides: those that were under way then change nothing, so that a
        comparison that is continued comes to the same decision.
        """
        total = PairedRecord()
        for seed in self._drawn:
            ours, theirs = (self._outcome.get((n, seed)) for n in (self.candidate, self.opponent))
            if ours is None or theirs is None:
                break
            if ours.verdict.outcome in JUDGED and theirs.verdict.outcome in JUDGED:
                total = total.add(candidate=ours.success, incumbent=theirs.success)
                if decide(total, self.alpha, self.max_pairs) is not Decision.CONTINUE:
                    break
        return total

    @property
    def decision(self) -> Decision:
        """Of the test, by the pairs so far."""
        return decide(self.record, self.alpha, self.max_pairs)
