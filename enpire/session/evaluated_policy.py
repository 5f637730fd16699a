"""What an evaluation is asked for, and what then acts on which stations."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeGuard

from enpire.errors import UsageError
from enpire.option_values import RANDOM
from enpire.packs.finder import GYM
from enpire.session.audience import Audience
from enpire.session.signing import warn_unsigned
from enpire.session.task_starts import task_from

if TYPE_CHECKING:
    from enpire.environment import Controller, StationBackend
    from enpire.policies import Policy
    from enpire.session.backends import Backend


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
class EvaluatedPolicy:
    """What is measured, on `task` as it was asked for; label: for a person; name: for the store."""

    task: str
    label: str
    name: str
    sha256: str
    controller: Controller


def policy_to_evaluate(
    request: EvaluationRequest, backend: Backend, audience: Audience
) -> tuple[StationBackend, EvaluatedPolicy]:
    """Return what is to be measured, and the stations that it acts on; raises as `measure`."""
    policy = request.policy
    if not isinstance(policy, str) or policy == RANDOM or policy.endswith(".py"):
        return _at_hand(request, backend, audience)
    return _of_a_run(request, backend, audience)


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
