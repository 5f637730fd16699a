"""A policy measured on seeds that it has never seen: what `enpire eval` and the library share."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeGuard

from enpire.errors import EnpireError, UsageError
from enpire.option_values import RANDOM
from enpire.packs.finder import GYM
from enpire.session.audience import Audience
from enpire.session.progress_bar import counted
from enpire.session.recorded_run import RecordedRun
from enpire.session.recovery import noted, open_recovery
from enpire.session.signing import warn_unsigned
from enpire.session.task_starts import task_from
from enpire.types import Estimate

if TYPE_CHECKING:
    from enpire.environment import Controller, StationBackend
    from enpire.policies import Policy
    from enpire.rollout.fleet.clock import Clock
    from enpire.rollout.fleet.recovery import Recovery
    from enpire.session.backends import Backend

NO_NUMBER = "nothing is known of the policy, mend what the reasons name and measure again"


@dataclass(frozen=True, slots=True)
class EvaluationRequest:
    """What is measured, and how."""

    # `RUN` or `RUN:NAME`, a folder of LeRobot's, `ws://HOST:PORT`, `FILE.py` or `random`; a policy
    # that is loaded already; or what acts, an observation to an action.
    policy: str | Policy | Callable[[Any], Any]
    # A task's name or folder, or `gym:ENV_ID`; empty for the one of the policy's run.
    task: str = ""
    begin: str = ""  # `start` or `phase` of a task that has both; empty for what `task` says
    episodes: int = 200  # how many are run
    robots: int = 4  # stations that hold an episode at one time
    attempts: int = 1  # how many an episode may make, the next from where a failed one has led
    seed: int | None = None  # draws the same seeds each time; None for fresh ones
    python: str = ""  # interpreter of a `gym:` environment; empty for the run's, or this one
    success: str = ""  # what makes an episode of a `gym:` environment a success
    reset: str = ""  # `fast` or `physical`; empty for fast
    world: str = ""  # A world pack in place of the task's
    inference_time: float = 0.0  # how long a chunk takes on twins [s]
    verify: str = "sensors"  # by `sensors` or by `cameras`
    vary_looks: bool = False  # whether each episode looks different to a policy that sees
    run: Path | None = None  # folder that keeps the episodes; None to keep none
    recover: str = ""  # shell command that helps a station that is set aside
    recover_limit: float | None = None  # how long that may take [s]; None for ten minutes
    # Whether code that a run names by a path is run though it was made elsewhere.
    trust: bool = False

    def on_arms(self, count: int) -> EvaluationRequest:
        """Return the same on so many stations with arms; none of them changes nothing.

        Raises:
            UsageError: A fast reset is asked for, which no arm has.
        """
        if not count:
            return self
        if self.reset == "fast":
            raise UsageError("--station is for arms: their resets are physical")
        return replace(self, robots=count, reset="physical")


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


@dataclass(frozen=True, slots=True)
class EvaluatedPolicy:
    """What is measured, on `task` as it was asked for; label: for a person; name: for the store."""

    task: str
    label: str
    name: str
    sha256: str
    controller: Controller


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
    from enpire.environment.core.station_backend import hand_moves
    from enpire.environment.gym_bridge.gym_stations import GymStations
    from enpire.policies.asynchronous import Asynchronous
    from enpire.rollout.evaluation.seeds import fresh_entropy

    policy = request.policy
    alone = not isinstance(policy, str) or policy == RANDOM or policy.endswith(".py")
    stations, acting = (_at_hand if alone else _of_a_run)(request, backend, audience)
    if request.attempts > 1 and acting.task.startswith(GYM):
        raise UsageError(f"--attempts is for a task pack: {acting.task} ends at its own verdict")
    watch = getattr(acting.controller, "watch", None)
    if isinstance(watch, PolicyWatch):
        watch.moves = hand_moves(stations)
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
        figures = _run_episodes(*measured, recovery, backend.clock(), audience)
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
    return _evaluation(figures, request, tuple(notes))


def _evaluation(
    figures: dict[str, Any], request: EvaluationRequest, notes: tuple[str, ...]
) -> Evaluation:
    by_attempt = {int(k): _estimate(measured) for k, measured in figures["pass_at"].items()}
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
        notes=notes,
        figures=figures,
    )


def _estimate(measured: Mapping[str, Any]) -> Estimate:
    """The estimate that `account.as_json` has turned into plain values."""
    low, high = measured["ci95"]
    trials = measured["n"]
    return Estimate(round((measured["success"] or 0.0) * trials), trials, low, high)


def _at_hand(
    request: EvaluationRequest, backend: Backend, audience: Audience
) -> tuple[StationBackend, EvaluatedPolicy]:
    """What belongs to no run: random actions, a script, an object that acts or is a policy."""
    import hashlib

    from enpire.environment import RandomActions
    from enpire.environment.gym_bridge.scripted_policy import ScriptedPolicy

    policy, task = request.policy, task_from(request.task, request.begin)
    named = policy if isinstance(policy, str) else name_of(policy)
    script = os.path.abspath(named) if named.endswith(".py") else ""
    if not task:
        raise UsageError(f"--policy {named} belongs to no run: give --task too")
    if request.inference_time and not is_policy(policy):
        raise UsageError(
            f"--inference-time is for policies of chunks, and {named} answers at once: leave it out"
        )
    if script and not os.path.isfile(script):
        raise UsageError(f"--policy {named}: there is no such file")
    warn_unsigned(task, audience.warn)
    in_environment = bool(script) and task.startswith(GYM)  # the script runs beside the environment
    order = _order(
        request, task, script if in_environment else "", 0 if script else _images(policy)
    )
    stations = backend.stations(order, request.robots)
    acts: Controller
    sha256 = ""
    if script:
        sha256 = hashlib.sha256(Path(script).read_bytes()).hexdigest()
        _, acts = stations.starter if in_environment else ("", ScriptedPolicy(script, stations))
    elif isinstance(policy, str):
        acts = RandomActions(stations.action_size)
    elif is_policy(policy):
        acts = _controller(policy, stations, named, request)
    else:
        acts = ScriptedPolicy.of(policy, stations)
    return stations, EvaluatedPolicy(task, named, Path(named).stem, sha256, acts)


def _of_a_run(
    request: EvaluationRequest, backend: Backend, audience: Audience
) -> tuple[StationBackend, EvaluatedPolicy]:
    from enpire.observe import policy_loading

    reference = str(request.policy)
    chosen = policy_loading.load(reference)
    # A run's interpreter and rule belong to its own task.
    task = task_from(request.task or chosen.task, request.begin)
    if not task:
        raise UsageError(f"{reference} does not say what it is for: give --task")
    warn_unsigned(task, audience.warn)
    chosen.require_trusted(task, request.trust)
    own = task == chosen.task
    request = replace(
        request,
        python=request.python or (chosen.python if own else ""),
        success=request.success or (chosen.success if own else ""),
    )
    order = _order(request, task, "", policy_loading.images(chosen.policy))
    stations = backend.stations(order, request.robots)
    controller = _controller(chosen.policy, stations, chosen.name, request)
    label = f"{chosen.run}:{chosen.name}" if chosen.task else str(chosen.run)
    if request.inference_time:
        label += f", {request.inference_time:g} s late"
    if request.vary_looks:
        label += ", looks varied"
    return stations, EvaluatedPolicy(task, label, chosen.name, chosen.sha256, controller)


def _order(request: EvaluationRequest, task: str, demonstrator: str, images: int) -> Any:
    from enpire.environment import Order, ResetMode

    return Order(
        task,
        request.python,
        request.success,
        ResetMode(request.reset or "fast"),
        request.verify,
        images,
        request.world,
        request.vary_looks,
        demonstrator,
    )


def _controller(
    policy: Policy, stations: StationBackend, name: str, request: EvaluationRequest
) -> Controller:
    from enpire.evolution.program_policies import policy_host
    from enpire.observe import policy_loading

    policy_loading.require_fit(policy, stations, name)
    if not request.inference_time:
        return policy_host.controller(policy, stations)
    if stations.live:
        raise UsageError("--inference-time is for twins: on arms chunks take what they take")
    return _late(policy, stations.period, request.inference_time)


def _late(policy: Policy, period: float, latency: float) -> Controller:
    """The policy on twins, its chunks as late as that [s], in whole control periods."""
    import math

    from enpire.policies import ChunkPolicy, FlowPolicy
    from enpire.policies.realtime import LatePolicy

    if not isinstance(policy, ChunkPolicy | FlowPolicy):
        raise UsageError(
            f"--inference-time is for policies of chunks, not for a {policy.kind} policy"
        )
    return LatePolicy(policy, math.ceil(latency / period - 1e-9))


def is_policy(value: Any) -> TypeGuard[Policy]:
    """Whether something is a policy of enpire's, not only what acts."""
    return all(hasattr(value, name) for name in ("kind", "spec", "controller", "tensors"))


def name_of(value: Any) -> str:
    """What an object that acts is called in a record: letters, digits and underscores."""
    named = getattr(value, "__name__", type(value).__name__)
    return "".join(letter if letter.isalnum() else "_" for letter in named).strip("_") or "policy"


def _images(policy: Any) -> int:
    if not is_policy(policy):
        return 0
    from enpire.observe import policy_loading

    return policy_loading.images(policy)


def _run_episodes(
    request: EvaluationRequest,
    acting: EvaluatedPolicy,
    stations: StationBackend,
    folder: Path,
    entropy: int,
    recovery: Recovery | None,
    clock: Clock,
    audience: Audience,
) -> dict[str, Any]:
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
        return {
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
