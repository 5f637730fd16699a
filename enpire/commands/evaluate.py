"""`enpire eval`: measure a policy of a run on seeds it has never seen."""

from __future__ import annotations

import os
import tempfile
from argparse import Namespace
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from enpire.commands.graphics import choose_graphics
from enpire.commands.loop_settings import SETTINGS
from enpire.commands.menagerie import add_menagerie, use_menagerie
from enpire.commands.options import (
    Parser,
    add_start,
    add_trust,
    natural,
    positive,
    print_json,
    spell,
    task_asked,
)
from enpire.commands.places import Backend, add_arms, add_cluster, place
from enpire.commands.progress_bar import counted
from enpire.commands.recovering import add_recovery, noted, recovery
from enpire.commands.signing import say_unsigned
from enpire.commands.threads import leave_cores_to_physics
from enpire.errors import EnpireError, UsageError
from enpire.packs.finder import GYM

if TYPE_CHECKING:
    from enpire.environment import Controller, StationBackend
    from enpire.policies import Policy
    from enpire.rollout.clock import Clock
    from enpire.rollout.recovery import Recovery

DESCRIPTION = """\
Measure a policy of a run on seeds it has never seen: drawn now, unless --seed asks for the same
ones again. Nothing is added to the run; --run keeps the episodes in a run folder of their own.
`--policy DIR` takes a folder that LeRobot wrote, for --task; `--policy random` measures uniform
random actions on any --task, `--policy FILE.py` a function of your own (docs/new-task.md)."""

RANDOM = "random"
NO_NUMBER = "nothing is known of the policy, mend what the reasons name and measure again"


def add_options(parser: Parser) -> None:
    """The options of `enpire eval`."""
    parser.add_argument(
        "--policy",
        required=True,
        metavar="RUN[:NAME]",
        help=f"a run's best policy, or one by name; a folder of LeRobot's; ws://HOST:PORT; "
        f"FILE.py; or {RANDOM}",
    )
    parser.add_argument("--episodes", type=positive, default=200, metavar="N", help="default 200")
    parser.add_argument("--robots", type=positive, default=4, metavar="N", help="default 4")
    parser.add_argument(
        "--attempts",
        type=positive,
        default=1,
        metavar="K",
        help="that an episode may make, the next from where a failed one has led: success at the "
        "first and by the last, pass@1 and pass@K (default 1)",
    )
    parser.add_argument("--seed", type=natural, metavar="N", help="the same seeds each time")
    parser.add_argument("--task", metavar="NAME", help="another task than the run's; or gym:ENV_ID")
    add_start(parser)
    for name in ("python", "success", "reset", "world"):  # that a run may have as well
        read, _, line = SETTINGS[name]
        parser.add_argument(f"--{name}", type=read, metavar="NAME", help=line)
    parser.add_argument(
        "--inference-time",
        type=spell,
        default=0.0,
        metavar="TIME",
        help="that a chunk takes, as 0.2s: the last one goes on meanwhile (default none)",
    )
    read, _, line = SETTINGS["verify"]
    parser.add_argument("--verify", type=read, default="sensors", metavar="WITH", help=line)
    parser.add_argument(
        "--vary-looks",
        action="store_true",
        help="a policy that sees is shown light, colours and cameras of each episode's own",
    )
    parser.add_argument("--run", type=Path, metavar="DIR", help="keep the episodes here")
    parser.add_argument("--json", action="store_true", help="print the result as the last line")
    add_cluster(parser)
    add_menagerie(parser)
    add_arms(parser)
    add_recovery(parser, "when a physical reset has failed")
    add_trust(parser)


def run(options: Namespace) -> int:
    """Run the episodes and print what came of them."""
    choose_graphics()
    use_menagerie(options)
    leave_cores_to_physics()
    if options.station:
        if options.reset == "fast":
            raise UsageError("--station is for arms: their resets are physical")
        options.robots, options.reset = len(options.station), "physical"
    with place(options) as where:
        return _in_place(options, where)


def _in_place(options: Namespace, where: Backend) -> int:
    from enpire.certification import certificate
    from enpire.observe import account, throughput
    from enpire.policies.asynchronous import Asynchronous
    from enpire.rollout.seeds import fresh_entropy

    alone = options.policy == RANDOM or options.policy.endswith(".py")
    chosen = _of_nobody if alone else _of_a_run
    stations, acting = chosen(options, where)
    if options.attempts > 1 and acting.task.startswith(GYM):
        raise UsageError(f"--attempts is for a task pack: {acting.task} ends at its own verdict")
    entropy = fresh_entropy() if options.seed is None else options.seed
    with ExitStack() as stack:
        folder = options.run or Path(stack.enter_context(tempfile.TemporaryDirectory())) / "eval"
        reset = options.reset or "fast"
        helping = stack.enter_context(recovery(options, acting.task, reset))
        asked = options.episodes, options.attempts
        figures = _measure(acting, stations, folder, *asked, entropy, reset, helping, where.clock())
    figures["fresh"] = options.seed is None
    measured = account.text(figures)
    print(f"{acting.label} on {stations.name}: {measured}, verified by {stations.verified_by}")
    figures["corrected"] = certificate.corrected(
        figures["successes"], figures["n"], acting.task, stations.packs, stations.verified_by
    )
    if figures["corrected"]:
        print(certificate.text(figures["corrected"]))
    if options.attempts > 1:
        k = str(options.attempts)
        print(f"pass@{k}, up to {k} attempts an episode: {account.text(figures['pass_at'][k])}")
    if speed := throughput.text(figures["speed"]):
        print(speed)
    print(f"outcomes {figures['outcomes']}, MRU {figures['mru']:.0%}")
    if isinstance(acting.controller, Asynchronous):
        figures["inference"] = late = acting.controller.as_json()
        print(
            f"inference: {late['missed']} of {late['periods']} control periods had no action, the "
            f"slowest chunk took {late['slowest']}"
        )
    if (beyond := getattr(acting.controller, "beyond", None)) is not None:
        figures["clipped"] = beyond.share
        if beyond.text:
            print(beyond.text)
    for title in ("failures_by_predicate", "failures_by_stage"):
        if figures[title]:
            print(f"{title.replace('_', ' ')}: {figures[title]}")
    for reason, count in figures["invalid"].items():
        print(f"invalid, and not counted: {count} of {figures['episodes']} episodes: {reason}")
    if options.json:
        print_json(figures)
    if not figures["n"]:
        raise EnpireError(f"none of {figures['episodes']} episodes was judged: {NO_NUMBER}")
    return 0


@dataclass(frozen=True, slots=True)
class EvaluatedPolicy:
    """What is measured, on `task` as it was asked for; label: for a person; name: for the store."""

    task: str
    label: str
    name: str
    sha256: str
    controller: Controller


def _of_nobody(options: Namespace, where: Backend) -> tuple[StationBackend, EvaluatedPolicy]:
    """Random actions, or those of a script."""
    import hashlib

    from enpire.environment import Order, RandomActions, ResetMode
    from enpire.environment.scripted import ScriptedPolicy

    named = str(options.policy)
    script = "" if named == RANDOM else os.path.abspath(named)
    if not options.task:
        raise UsageError(f"--policy {named} belongs to no run: give --task too")
    if script and not os.path.isfile(script):
        raise UsageError(f"--policy {named}: there is no such file")
    python, success = options.python or "", options.success or ""
    reset = ResetMode(options.reset or "fast")
    task = task_asked(options)
    say_unsigned(task)
    order = Order(
        task,
        python,
        success,
        reset,
        options.verify,
        world=options.world or "",
        vary_looks=options.vary_looks,
        demonstrator=script if task.startswith(GYM) else "",
    )
    stations = where.stations(order, options.robots)
    acts: Controller = RandomActions(stations.action_size)
    sha256 = ""
    if script:
        sha256 = hashlib.sha256(Path(script).read_bytes()).hexdigest()
        _, acts = stations.starter if order.demonstrator else ("", ScriptedPolicy(script, stations))
    return stations, EvaluatedPolicy(task, named, Path(named).stem, sha256, acts)


def _of_a_run(options: Namespace, where: Backend) -> tuple[StationBackend, EvaluatedPolicy]:
    from enpire.environment import Order, ResetMode
    from enpire.evolution import hosting
    from enpire.observe import frozen

    chosen = frozen.load(options.policy)
    # A run's interpreter and rule belong to its own task.
    task = task_asked(options, chosen.task)
    if not task:
        raise UsageError(f"{options.policy} does not say what it is for: give --task")
    say_unsigned(task)
    chosen.require_trusted(task, options.trust)
    own = task == chosen.task
    python = options.python or (chosen.python if own else "")
    success = options.success or (chosen.success if own else "")
    reset = ResetMode(options.reset or "fast")
    images = frozen.images(chosen.policy)
    order = Order(
        task,
        python,
        success,
        reset,
        options.verify,
        images,
        options.world or "",
        options.vary_looks,
    )
    stations = where.stations(order, options.robots)
    frozen.require_fit(chosen.policy, stations, chosen.name)
    controller: Controller = hosting.controller(chosen.policy, stations)
    label = f"{chosen.run}:{chosen.name}" if chosen.task else str(chosen.run)
    if options.inference_time:
        if stations.live:
            raise UsageError("--inference-time is for twins: on arms chunks take what they take")
        controller = _late(chosen.policy, stations.period, options.inference_time)
        label += f", {options.inference_time:g} s late"
    if options.vary_looks:
        label += ", looks varied"
    return stations, EvaluatedPolicy(task, label, chosen.name, chosen.sha256, controller)


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


def _measure(
    acting: EvaluatedPolicy,
    stations: StationBackend,
    folder: Path,
    episodes: int,
    attempts: int,
    entropy: int,
    reset: str,
    helping: Recovery | None,
    clock: Clock,
) -> dict[str, Any]:
    import time
    from collections import Counter
    from itertools import islice

    from enpire.environment import Job
    from enpire.observe import account
    from enpire.observe.result import versions
    from enpire.rollout.fleet import Fleet
    from enpire.rollout.seeds import stream
    from enpire.rollout.statistics import estimate
    from enpire.store import EpisodeWriter, Run
    from enpire.types import JUDGED, Purpose

    task = stations.name
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
                print(f"{kind}: {decision.text}", flush=True)

            fleet = Fleet(stations, writer, clock=clock, recovery=helping, note=note)
            done = list(counted(fleet.run(jobs), "episodes", episodes))
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
