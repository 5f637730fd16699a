"""A policy measured on seeds that it has never seen: what `enpire eval` and the library share."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from enpire.errors import EnpireError, UsageError
from enpire.packs.finder import GYM
from enpire.session.audience import Audience
from enpire.session.evaluated_policy import (
    EvaluatedPolicy,
    EvaluationRequest,
    policy_to_evaluate,
)
from enpire.session.progress_bar import counted
from enpire.session.recorded_run import RecordedRun
from enpire.session.recovery import noted, open_recovery
from enpire.types import Estimate

if TYPE_CHECKING:
    from enpire.environment import StationBackend
    from enpire.rollout.fleet.clock import Clock
    from enpire.rollout.fleet.recovery import Recovery
    from enpire.session.backends import Backend

NO_NUMBER = "nothing is known of the policy, mend what the reasons name and measure again"


@dataclass(frozen=True, slots=True)
class Evaluation:
    """What came of measuring a policy.

    Attributes:
        policy: What was measured, for a person.
        task: The task's name.
        success: Success rate over the judged episodes at the first attempt, with its 95% interval.
        by_attempt: The same by the last of so many attempts, pass@K, by their number.
        outcomes: How many episodes ended how.
        failures: Failures by the name of a predicate that did not hold.
        invalid: Episodes that say nothing of the policy, by reason.
        robot_hours: Robot time from reset to verdict [h].
        seed: What the episodes' seeds were drawn from: the same one draws the same ones again.
        verified_by: What the verdicts were come by with.
        run: The episodes, if they were to be kept.
        notes: Sentences on how the policy acted: chunks that came late, actions that were clipped.
        figures: All that was measured, as plain values.
    """

    policy: str
    task: str
    success: Estimate
    by_attempt: Mapping[int, Estimate]
    outcomes: Mapping[str, int]
    failures: Mapping[str, int]
    invalid: Mapping[str, int]
    robot_hours: float
    seed: int
    verified_by: str
    run: RecordedRun | None
    notes: tuple[str, ...] = ()
    figures: Mapping[str, Any] = field(default_factory=dict, repr=False)

    def __str__(self) -> str:
        measured = f"{self.policy} on {self.task}: {self.success}, verified by {self.verified_by}"
        return "\n".join([measured, *self.notes])

    def require_judged(self) -> None:
        """Check that something is known of the policy.

        Raises:
            EnpireError: No episode was judged.
        """
        if self.success.trials:
            return
        count = sum(self.outcomes.values())
        reasons = "; ".join(filter(None, self.invalid))
        why = f" ({reasons})" if reasons else ""
        raise EnpireError(f"none of {count} episodes was judged{why}: {NO_NUMBER}")


def measure(request: EvaluationRequest, backend: Backend, audience: Audience) -> Evaluation:
    """Run the episodes and return what came of them, judged or not.

    Args:
        request: What is measured, and how.
        backend: Where.
        audience: Who is told what happens meanwhile.

    Raises:
        UsageError, PackError: There is no such task, or nobody can do what is asked for.
        StoreError: There is no such run, or it has no such policy.
        PolicyError: The policy cannot be read, is another task's, or acts in no sense.
    """
    from enpire.certification import certificate
    from enpire.environment.core.policy_watch import PolicyWatch
    from enpire.environment.core.station_backend import grippers, hand_moves
    from enpire.environment.gym_bridge.gym_stations import GymStations
    from enpire.policies.asynchronous import Asynchronous
    from enpire.rollout.evaluation.seeds import fresh_entropy

    stations, acting = policy_to_evaluate(request, backend, audience)
    if request.attempts > 1 and acting.task.startswith(GYM):
        raise UsageError(f"--attempts is for a task pack: {acting.task} ends at its own verdict")
    watch = getattr(acting.controller, "watch", None)
    if isinstance(watch, PolicyWatch):
        watch.moves, watch.grips = hand_moves(stations), grippers(stations)
    entropy = fresh_entropy() if request.seed is None else request.seed
    with ExitStack() as stack:
        if isinstance(stations, GymStations):
            stack.callback(stations.close)
        folder = request.run or Path(stack.enter_context(tempfile.TemporaryDirectory())) / "eval"
        recovery = stack.enter_context(
            open_recovery(
                request.recover, request.recover_limit, acting.task, request.reset or "fast"
            )
        )
        measured = request, acting, stations, folder, entropy
        figures, by_attempt = _run_episodes(*measured, recovery, backend.clock(), audience)
    figures["fresh"] = request.seed is None
    figures["corrected"] = certificate.corrected(
        figures["successes"], figures["n"], acting.task, stations.packs, stations.verified_by
    )
    notes = []
    if isinstance(acting.controller, Asynchronous):
        figures["inference"] = late = acting.controller.as_json()
        notes.append(
            f"inference: {late['missed']} of {late['periods']} control periods had no action, the "
            f"slowest chunk took {late['slowest']}"
        )
    if isinstance(watch, PolicyWatch):
        figures["clipped"] = watch.share
        if watch.text:
            notes.append(watch.text)
    return Evaluation(
        policy=figures["policy"],
        task=figures["task"],
        success=by_attempt[1],
        by_attempt=by_attempt,
        outcomes=figures["outcomes"],
        failures=figures["failures_by_predicate"],
        invalid=figures["invalid"],
        robot_hours=figures["robot_hours"],
        seed=figures["entropy"],
        verified_by=figures["verified_by"],
        run=None if request.run is None else RecordedRun(request.run),
        notes=tuple(notes),
        figures=figures,
    )


def _run_episodes(
    request: EvaluationRequest,
    acting: EvaluatedPolicy,
    stations: StationBackend,
    folder: Path,
    entropy: int,
    recovery: Recovery | None,
    clock: Clock,
    audience: Audience,
) -> tuple[dict[str, Any], dict[int, Estimate]]:
    """Figures of the episodes, and success by the last of so many attempts."""
    import time
    from collections import Counter
    from itertools import islice

    from enpire.environment import Job
    from enpire.observe import account
    from enpire.observe.result import versions
    from enpire.rollout.evaluation.seeds import stream
    from enpire.rollout.evaluation.statistics import estimate
    from enpire.rollout.fleet.fleet import Fleet
    from enpire.store import EpisodeWriter, Run
    from enpire.types import JUDGED, Purpose

    task, attempts, episodes = stations.name, request.attempts, request.episodes
    reset = request.reset or "fast"
    asked = {"policy": acting.label, "task": task, "entropy": entropy, "reset": reset}
    config = {"eval": asked}
    jobs = (
        Job(seed, Purpose.EVALUATION, acting.controller, acting.name, attempts=attempts)
        for seed in islice(stream(entropy, "eval"), episodes)
    )
    began = time.monotonic()
    with Run.create(folder, config) as run:
        with EpisodeWriter(run) as writer:

            def note(kind: str, station: int, text: str) -> None:
                decision = noted(0, kind, station, text)
                run.ledger.add_decision(decision)
                audience.say(f"{kind}: {decision.text}")

            fleet = Fleet(stations, writer, clock=clock, recovery=recovery, note=note)
            running = fleet.run(jobs)
            done = list(counted(running, "episodes", episodes) if audience.progress else running)
        wall_s, ledger = time.monotonic() - began, run.ledger
        rows = ledger.episodes()
        speed = account.speed(rows)
        predicates, stages = account.failures(ledger, rows)
        judged = [episode for episode in done if episode.verdict.outcome in JUDGED]
        passed = {
            k: estimate(sum(e.success and e.attempts <= k for e in judged), len(judged))
            for k in sorted({1, attempts})
        }
        successes = passed[1]
        figures = {
            "policy": acting.label,
            "sha256": acting.sha256,
            "task": task,
            "robots": len(stations),
            "entropy": entropy,
            "reset": reset,
            **account.as_json(successes),
            "successes": successes.successes,
            "episodes": len(rows),
            "attempts": attempts,
            "pass_at": {str(k): account.as_json(measured) for k, measured in passed.items()},
            "speed": speed.as_json(),
            "outcomes": dict(Counter(str(row.outcome) for row in rows)),
            "invalid": dict(Counter(row.reason for row in rows if row.outcome == "invalid")),
            "failures_by_predicate": dict(predicates.most_common()),
            "failures_by_stage": dict(stages.most_common()),
            "robot_hours": account.robot_seconds(rows)[0] / 3600,
            "mru": account.ledger_mru(ledger),
            "wall_s": wall_s,
            "sim_steps_per_s": stations.steps_done / fleet.stepping_s,
            "versions": versions(),
            "verified_by": stations.verified_by,
            "packs": stations.packs,
        }
        return figures, passed
