"""A candidate against another policy on the same fresh seeds, until a test decides."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from enpire.environment import Controller, Job
from enpire.environment.core.jobs import episode_id
from enpire.rollout.evaluation.comparison import EXTENSION, Decision, PairedRecord, decide
from enpire.types import JUDGED, LOST, Episode, Outcome, Purpose


@dataclass(slots=True)
class PairedComparison:
    """One comparison: what it asks for, and what came of it so far."""

    candidate: str
    opponent: str
    controllers: Mapping[str, Controller]  # of both policies, the candidate's first
    round: int  # of its episodes
    seeds: Iterator[int]  # fresh ones, endless
    # alpha, max_pairs: see `decide`
    alpha: float
    max_pairs: int
    _drawn: list[int] = field(default_factory=list)
    _outcome: dict[tuple[str, int], Episode] = field(default_factory=dict)
    _counted: int = 0  # leading pairs that `_record` is of
    _record: PairedRecord = field(default_factory=PairedRecord)

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
        """Tell it of an episode; those that are not its own change nothing.

        Nor do those that were cut short: they have other names, and are run again.
        """
        if episode.id == episode_id(Purpose.EVALUATION, self.round, episode.policy, episode.seed):
            self._outcome[episode.policy, episode.seed] = episode

    @property
    def record(self) -> PairedRecord:
        """The leading pairs that are complete, in the order their seeds were drawn.

        Up to the one that decides: those that were under way then change nothing, so that a
        comparison that is continued comes to the same decision.
        """
        while self._counted < len(self._drawn) and self._undecided:
            seed = self._drawn[self._counted]
            ours, theirs = (self._outcome.get((n, seed)) for n in (self.candidate, self.opponent))
            if ours is None or theirs is None:
                break
            self._counted += 1
            counts = ours.verdict.outcome in JUDGED or voided(ours)
            if counts and theirs.verdict.outcome in JUDGED:
                self._record = self._record.add(candidate=ours.success, incumbent=theirs.success)
        return self._record

    @property
    def drawn(self) -> int:
        """Leading seeds that `record` is of, also those where an episode could not be judged."""
        return self._counted

    @property
    def _undecided(self) -> bool:
        return decide(self._record, self.alpha, self.max_pairs) is Decision.CONTINUE

    @property
    def decision(self) -> Decision:
        """The decision of the test, by the pairs so far."""
        return decide(self.record, self.alpha, self.max_pairs)


def voided(episode: Episode) -> bool:
    """Whether an episode came to nothing while its policy acted, on a station that is not lost.

    It may be what the policy did. A candidate's is a failure, lest it voids what it would lose;
    that only takes promotions away. A fault of an environment is tried again by the fleet: it gets
    here if it came twice, where the opponent had its episode on the same seed.
    """
    acted = episode.times.execute > 0.0 and episode.verdict.stage != LOST
    return episode.verdict.outcome is Outcome.INVALID and acted
