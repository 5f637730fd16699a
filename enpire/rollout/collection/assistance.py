"""Help in a round's collection: one helper beside all stations, where the policy acts alone.

Stations ask for it when the detector foresees a failure. The detector learns from what policies of
the run did alone in earlier rounds; before it has, and where too little is known, only who takes
over unasked helps.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace

from enpire.environment import (
    Controller,
    FailureDetector,
    InterventionWrapper,
    Job,
    Operator,
    Tasked,
)
from enpire.environment.core.controller import Assisted
from enpire.improvement.collection import first, meanwhile
from enpire.rollout.collection.failure_detector import (
    Detector,
    NoFailureDetector,
    interventions,
    learn_detector,
)
from enpire.rollout.evaluation.statistics import estimate
from enpire.store import LogEntry
from enpire.types import JUDGED, Episode, Purpose

OVERTIME = 4.0  # time limits that help may take beyond the task's


@dataclass(slots=True)
class RoundHelp:
    """The help of one round."""

    helper: Operator
    stations: Tasked
    base: str  # the policy that collects, by name
    episodes: Sequence[Episode]  # of earlier rounds
    seed: int  # of the detector's training
    detector: Detector | None = None  # once it has learned
    _made: dict[tuple[int, int], InterventionWrapper] = field(default_factory=dict)

    def jobs(self, jobs: Iterator[Job | None]) -> Iterator[Job | None]:
        """A round's jobs, the policy's own with the helper beside it.

        The first ones are let run, while the detector learns.

        Raises:
            RecipeError: its training diverged.
        """
        periods, nobody = self.stations.execute_periods, NoFailureDetector()
        few = first(jobs, 2 * len(self.stations))
        alone = (job and self._job_with_helper(job, nobody) for job in few)
        self.detector = yield from meanwhile(
            alone, lambda: learn_detector(self.episodes, periods, self.seed)
        )
        watch = self.detector.watch() if self.detector else nobody
        for job in jobs:
            yield job and self._job_with_helper(job, watch)

    def _job_with_helper(self, job: Job, watch: FailureDetector) -> Job:
        """A job with the helper beside its policy; another recipe's ways are left to it."""
        own = job.overtime or job.attempts > 1 or job.forked or isinstance(job.controller, Assisted)
        if own or job.policy != self.base:
            return job
        return replace(
            job,
            controller=self._corrected(job.controller, watch),
            policy=f"{job.policy}+{self.helper.name}",
            overtime=OVERTIME * self.stations.task.time_limit,
        )

    def _corrected(self, policy: Controller, watch: FailureDetector) -> InterventionWrapper:
        """One for all stations on which a controller acts, so that it acts for all in one call."""
        key = id(policy), id(watch)
        if key not in self._made:
            helper, actions = self.helper, self.stations.task.actions
            self._made[key] = InterventionWrapper(policy, helper.acts, watch, actions, helper.desk)
        return self._made[key]


def detected(detector: Detector, number: int = 0) -> LogEntry:
    """What it is worth, for the ledger; number: of the round."""
    found = detector.detection
    numbers = {name: float(count) for name, count in asdict(found).items()}
    return LogEntry(number, "detector", str(found), numbers=numbers)


def helped(done: Iterable[Episode], who: str, number: int = 0) -> LogEntry:
    """What help came to, for the ledger; done: episodes with somebody beside. who: all of them."""
    episodes = list(done)
    judged = [e for e in episodes if e.verdict.outcome in JUDGED]
    success = estimate(sum(e.success for e in judged), len(judged))
    acted = sum(len(e) for e in episodes)
    numbers = {
        "episodes": float(len(episodes)),
        "interventions": interventions(episodes) / max(len(episodes), 1),
        "helped": sum(int(e.intervened.sum()) for e in episodes) / max(acted, 1),
    }
    text = (
        f"{who}: success {success}, {numbers['interventions']:.2f} interventions an episode, "
        f"{numbers['helped']:.0%} of the periods helped"
    )
    return LogEntry(number, "helped", text, numbers=numbers)


def attended(episodes: Iterable[Episode], helper: Operator, number: int) -> list[Episode]:
    """The episodes that a round collected with the helper beside a policy."""
    beside = f"+{helper.name}"
    return [
        e
        for e in episodes
        if e.round == number and e.purpose is Purpose.COLLECTION and e.policy.endswith(beside)
    ]
