"""One point of the stress grid: what a policy achieves there, and whether it is judged rightly.

Every episode is audited: the verifier's word is held against the simulator's truth.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from enpire.certification.episodes import Observer, run
from enpire.certification.verifier import Audit, confusion, difference
from enpire.environment import Controller, Job, Stations, Task
from enpire.environment.resets.perturbation import Change, Perturbation, entries
from enpire.rollout.evaluation.statistics import Confusion, estimate
from enpire.types import JUDGED, Episode, Estimate, Outcome, Purpose

FALSE_SUCCESS = 0.01  # share of audited episodes, at most, at every point
NO_AUDIT = Confusion()
ALWAYS = (Change.NOTHING, Change.NOISE)  # apply to whatever there is


@dataclass(frozen=True, slots=True)
class StressResult:
    """What was measured at one point of the grid."""

    point: str  # the point's name
    success: Estimate  # as the verifier says, over judged episodes
    invalid: int = 0  # episodes whose reset failed for good, which count to nothing
    tried_again: int = 0  # resets that failed and were tried with another initial condition
    audit: Confusion = NO_AUDIT  # the verifier against the truth
    missing: str = ""  # why there is nothing to change, for a person; empty where it was measured
    # How often each predicate did not hold, the most frequent first.
    failures: Mapping[str, int] = field(default_factory=dict)
    reason: str = ""  # why an episode was invalid, the most frequent reason; empty if none was
    example: str = ""  # one false success: its seed, what was said and was; empty if there is none

    @property
    def false_successes(self) -> int:
        """Episodes that were called a success and truly were none."""
        return self.audit.said_success_was_failure

    @property
    def passed(self) -> bool | None:
        """Whether the verifier holds its bar; None where nothing was audited."""
        if not self.audit.trials:
            return None
        return self.false_successes <= FALSE_SUCCESS * self.audit.trials

    def as_json(self) -> dict[str, Any]:
        """Return it as plain values."""
        false = estimate(self.false_successes, self.audit.trials)
        return {
            "point": self.point,
            "success": self.success.rate if self.success.trials else None,
            "successes": self.success.successes,
            "n": self.success.trials,
            "ci95": [self.success.low, self.success.high],
            "invalid": self.invalid,
            "resets_tried_again": self.tried_again,
            "audited": self.audit.trials,
            "true_failures": self.audit.failures,
            "false_successes": self.false_successes,
            "false_successes_ci95": [false.low, false.high],
            "false_failures": self.audit.said_failure_was_success,
            "passed": self.passed,
            "missing": self.missing,
            "failures_by_predicate": dict(self.failures),
            "invalid_reason": self.reason,
            "false_success_example": self.example,
        }


class ResetWatch(Observer):
    """Counts resets that are tried again, and takes stations back whose reset failed for good."""

    def __init__(self, takes_back: bool) -> None:
        """takes_back: without it a task's own fault ends the run, as it should without a change."""
        self._takes_back = takes_back
        self._tries: dict[int, int] = {}
        self.tried_again = 0

    def period(self, stations: Stations) -> None:
        """Remember how often each station has tried."""
        for row in range(len(stations)):
            self._tries[row] = max(self._tries.get(row, 0), stations.tries(row))

    def ended(self, stations: Stations, episode: Episode) -> None:
        """Count, and let the station go on: a change may put a scene where no reset brings it."""
        self.tried_again += max(self._tries.pop(episode.station, 0) - 1, 0)
        if self._takes_back and episode.verdict.outcome is Outcome.INVALID:
            stations.recover(episode.station)


def measure(
    build: Callable[[Perturbation], Stations],
    act: Callable[[Stations], Controller],
    point: Perturbation,
    seeds: Iterable[int],
    policy: str,
) -> StressResult:
    """Run an episode of each seed under one change, all else as in an evaluation.

    Args:
        build: makes stations with the change.
        act: what acts on them.
        policy: the name that the episodes' jobs have.

    Raises:
        PackError: without any change, the task's own code has failed.
    """
    stations = build(point)
    if missing := lacks(point, stations):
        return StressResult(point.name, estimate(0, 0), missing=missing)
    controller = act(stations)
    audit, watch = Audit(), ResetWatch(takes_back=point.change is not Change.NOTHING)
    jobs = [Job(seed, Purpose.EVALUATION, controller, policy) for seed in seeds]
    done = run(stations, jobs, audit, watch)
    judged = [episode for episode in done if episode.verdict.outcome in JUDGED]
    audited = audit.of(done)
    reasons = Counter(e.verdict.reason for e in done if e.verdict.outcome not in JUDGED)
    return StressResult(
        point.name,
        estimate(sum(episode.success for episode in judged), len(judged)),
        len(done) - len(judged),
        watch.tried_again,
        confusion(audited),
        failures=dict(Counter(n for e in judged for n in e.verdict.failed).most_common()),
        reason=next((reason for reason, _ in reasons.most_common(1)), ""),
        example=next(
            (f"seed {a.seed}: {difference(a)}" for a in audited if a.said and not a.was), ""
        ),
    )


def lacks(point: Perturbation, stations: Stations) -> str:
    """Why a change means nothing on these stations, for a person; empty where it means something.

    Args:
        point: the change, with which the stations were built.
    """
    task, change = stations.task, point.change
    if change in ALWAYS:
        return ""
    if change is Change.CLEARANCE:
        return "" if type(task).tighten is not Task.tighten else "the task has no `tighten`"
    if change in (Change.TRACKER_OFFSET, Change.TRACKER_LATENCY):
        return "" if task.tracked else "nothing is tracked"
    if change is Change.POSES:
        return "" if task.target_names else "the task has no `target_names`"
    if change in (Change.LIGHT, Change.CAMERAS):
        sees = stations.verifier_cameras is not None or stations.frame_capture is not None
        return "" if sees else "nobody sees by cameras"
    return "" if entries(stations.twin.scene, change) else "the scene has none"
