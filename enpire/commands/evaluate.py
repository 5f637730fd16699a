"""`enpire eval`: measure a policy of a run on seeds it has never seen."""

from __future__ import annotations

import tempfile
from argparse import Namespace
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from enpire.commands.options import Parser, natural, positive, print_json
from enpire.commands.threads import leave_cores_to_physics

if TYPE_CHECKING:
    from enpire.environment import Stations
    from enpire.observe.frozen import Frozen

DESCRIPTION = """\
Measure a policy of a run on seeds it has never seen: drawn now, unless --seed asks for the same
ones again. Nothing is added to the run; --run keeps the episodes in a run folder of their own."""


def add_options(parser: Parser) -> None:
    """The options of `enpire eval`."""
    parser.add_argument(
        "--policy", required=True, metavar="RUN[:NAME]", help="a run's best policy, or one by name"
    )
    parser.add_argument("--episodes", type=positive, default=200, metavar="N", help="default 200")
    parser.add_argument("--robots", type=positive, default=4, metavar="N", help="default 4")
    parser.add_argument("--seed", type=natural, metavar="N", help="the same seeds each time")
    parser.add_argument("--task", metavar="NAME", help="another task than the run's")
    parser.add_argument("--run", type=Path, metavar="DIR", help="keep the episodes here")
    parser.add_argument("--json", action="store_true", help="print the result as the last line")


def run(options: Namespace) -> int:
    """Run the episodes and print what came of them."""
    from enpire.certification import certificate
    from enpire.environment import build_stations
    from enpire.observe import account, frozen
    from enpire.rollout.seeds import fresh_entropy

    leave_cores_to_physics()
    chosen = frozen.load(options.policy)
    stations = build_stations(options.task or chosen.task, options.robots)
    frozen.require_fit(chosen.policy, stations.task, chosen.name)
    entropy = fresh_entropy() if options.seed is None else options.seed
    with ExitStack() as stack:
        folder = options.run or Path(stack.enter_context(tempfile.TemporaryDirectory())) / "eval"
        figures = _measure(chosen, stations, folder, options.episodes, entropy)
    figures["fresh"] = options.seed is None
    measured = account.text(figures)
    print(f"{chosen.run}:{chosen.name} on {stations.task.folder.name}: {measured}")
    figures["corrected"] = certificate.corrected(
        figures["successes"], figures["n"], str(stations.task.folder), stations.packs
    )
    if figures["corrected"]:
        print(certificate.text(figures["corrected"]))
    print(f"outcomes {figures['outcomes']}, MRU {figures['mru']:.0%}")
    for title in ("failures_by_predicate", "failures_by_stage"):
        if figures[title]:
            print(f"{title.replace('_', ' ')}: {figures[title]}")
    if options.json:
        print_json(figures)
    return 0


def _measure(
    chosen: Frozen, stations: Stations, folder: Path, episodes: int, entropy: int
) -> dict[str, Any]:
    import time
    from collections import Counter
    from itertools import islice

    from enpire.environment import Job
    from enpire.observe import account
    from enpire.observe.result import versions
    from enpire.policies import PolicyController
    from enpire.rollout.fleet import Fleet
    from enpire.rollout.seeds import stream
    from enpire.store import EpisodeWriter, Run
    from enpire.types import Purpose

    task = stations.task.folder.name
    config = {"eval": {"policy": f"{chosen.run}:{chosen.name}", "task": task, "entropy": entropy}}
    controller = PolicyController(chosen.policy)
    jobs = (
        Job(seed, Purpose.EVALUATION, controller, chosen.name)
        for seed in islice(stream(entropy, "eval"), episodes)
    )
    began = time.monotonic()
    with Run.create(folder, config) as run:
        with EpisodeWriter(run) as writer:
            fleet = Fleet(stations, writer)
            for _ in fleet.run(jobs):
                pass
        wall_s, ledger = time.monotonic() - began, run.ledger
        rows = ledger.episodes()
        predicates, stages = account.failures(ledger, rows)
        successes = account.success(rows)
        return {
            "policy": f"{chosen.run}:{chosen.name}",
            "sha256": chosen.sha256,
            "task": task,
            "robots": len(stations),
            "entropy": entropy,
            **account.as_json(successes),
            "successes": successes.successes,
            "episodes": len(rows),
            "outcomes": dict(Counter(str(row.outcome) for row in rows)),
            "failures_by_predicate": dict(predicates.most_common()),
            "failures_by_stage": dict(stages.most_common()),
            "robot_hours": account.robot_seconds(rows)[0] / 3600,
            "mru": account.ledger_mru(ledger),
            "wall_s": wall_s,
            "sim_steps_per_s": stations.twin.substeps_done / fleet.stepping_s,
            "versions": versions(),
            "packs": stations.packs,
        }
