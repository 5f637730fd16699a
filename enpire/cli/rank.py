"""`enpire rank`: several policies on the same fresh seeds, and what that shows."""

from __future__ import annotations

import tempfile
from argparse import Namespace
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from enpire.cli.options.episodes import add_episodes_folder, add_robots, add_seed, add_verifier
from enpire.cli.options.parser import Parser, add_trust, print_json
from enpire.errors import EnpireError, UsageError
from enpire.option_values import positive
from enpire.session.graphics import choose_graphics
from enpire.session.progress_bar import counted
from enpire.session.threads import leave_cores_to_physics

if TYPE_CHECKING:
    from enpire.environment import StationBackend
    from enpire.observe.policy_loading import LoadedPolicy

DESCRIPTION = """\
Run policies of one task on the same seeds, drawn now unless --seed asks for the same ones again.
One is said to be better than another only where that is shown: all claims together are right with
a chance of 95% at least. Nothing is added to the runs that the policies are of."""


def add_options(parser: Parser) -> None:
    """The options of `enpire rank`."""
    parser.add_argument(
        "policies",
        nargs="+",
        metavar="RUN[:NAME]",
        help="policies to compare: a run's best, or one by name; or a folder of LeRobot's",
    )
    parser.add_argument(
        "--episodes",
        type=positive,
        default=200,
        metavar="N",
        help="episodes to run with each policy (default 200)",
    )
    add_robots(parser)
    parser.add_argument("--task", metavar="NAME", help="task of the policies that belong to no run")
    add_seed(parser)
    add_verifier(parser)
    add_episodes_folder(parser)
    parser.add_argument("--json", action="store_true", help="print the result last, as JSON")
    add_trust(parser)


def run(options: Namespace) -> int:
    """Run the episodes and print who is better than whom."""
    choose_graphics()
    from rich.console import Console
    from rich.table import Table

    from enpire.environment import Order, open_stations
    from enpire.observe import account, policy_loading
    from enpire.rollout.evaluation.comparison import better_than
    from enpire.rollout.evaluation.seeds import fresh_entropy
    from enpire.rollout.evaluation.statistics import estimate

    if len(set(options.policies)) < max(2, len(options.policies)):
        raise UsageError("rank compares: name two different policies or more")
    leave_cores_to_physics()
    chosen = {reference: policy_loading.load(reference) for reference in options.policies}
    of_runs = {reference: policy for reference, policy in chosen.items() if policy.task}
    reference, first = next(iter((of_runs or chosen).items()))
    for other, policy in of_runs.items():
        if policy.task != first.task:
            raise UsageError(
                f"{other} is for {policy.task}, {reference} for {first.task}: "
                "rank policies of one task"
            )
    task = options.task or first.task
    if not task or (of_runs and task != first.task):
        raise UsageError(
            f"{reference} is for {first.task}: leave --task out"
            if of_runs
            else "policies of LeRobot's belong to no run: give --task too"
        )
    for policy in of_runs.values():
        policy.require_trusted(task, options.trust)
    images = max(policy_loading.images(policy.policy) for policy in chosen.values())
    order = Order(task, first.python, first.success, verify=options.verify, images=images)
    stations = open_stations(order, options.robots)
    for policy in chosen.values():
        policy_loading.require_fit(policy.policy, stations, policy.name)
    entropy = fresh_entropy() if options.seed is None else options.seed
    outcomes = _outcomes(stations, chosen, options.episodes, entropy, options.run)
    better = better_than(outcomes)
    rows: list[dict[str, Any]] = []
    for reference, judged in outcomes.items():
        known = [good for good in judged if good is not None]
        figures = account.as_json(estimate(sum(known), len(known)))
        rows.append({"policy": reference, **figures, "better_than": sorted(better[reference])})
    rows.sort(key=lambda row: -(row["success"] or 0.0))
    print(f"{stations.name}, {options.episodes} seeds, verified by {stations.verified_by}")
    table = Table()
    for title in ("policy", "success", "shown to be better than"):
        table.add_column(title, overflow="fold")  # of long names it is the end that differs
    for row in rows:
        table.add_row(row["policy"], account.text(row), "\n".join(row["better_than"]) or "none")
    Console(highlight=False, markup=False).print(table)
    if options.json:
        print_json({"task": stations.name, "entropy": entropy, "policies": rows})
    if blank := [row["policy"] for row in rows if not row["n"]]:
        raise EnpireError(f"no episode of {', '.join(blank)} was judged: nothing is known of it")
    return 0


def _outcomes(
    stations: StationBackend,
    chosen: dict[str, LoadedPolicy],
    episodes: int,
    entropy: int,
    folder: Path | None,
) -> dict[str, list[bool | None]]:
    """The outcomes of each policy on the same seeds, or None where nothing was judged."""
    from itertools import islice

    from enpire.environment import Job
    from enpire.evolution.program_policies import policy_host
    from enpire.rollout.evaluation.seeds import stream
    from enpire.rollout.fleet.fleet import Fleet
    from enpire.store import EpisodeWriter, Run
    from enpire.types import JUDGED, Purpose

    seeds = list(islice(stream(entropy, "eval"), episodes))
    controllers = {
        name: policy_host.controller(one.policy, stations) for name, one in chosen.items()
    }
    jobs = (
        Job(seed, Purpose.EVALUATION, controller, name)
        for seed in seeds
        for name, controller in controllers.items()
    )
    with ExitStack() as stack:
        kept = folder or Path(stack.enter_context(tempfile.TemporaryDirectory())) / "rank"
        config = {"rank": {"policies": list(chosen), "task": stations.name, "entropy": entropy}}
        run = stack.enter_context(Run.create(kept, config))
        fleet = Fleet(stations, stack.enter_context(EpisodeWriter(run)))
        total = len(seeds) * len(controllers)
        running = counted(fleet.run(jobs), "episodes", total)
        done = {(e.policy, e.seed): e for e in running}
    return {
        name: [
            done[name, seed].success if done[name, seed].verdict.outcome in JUDGED else None
            for seed in seeds
        ]
        for name in chosen
    }
