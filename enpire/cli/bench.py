"""`enpire bench`: how fast this machine is at what the loop does."""

from __future__ import annotations

import importlib
import tempfile
from argparse import Namespace
from pathlib import Path
from typing import Any

from enpire.cli.options.episodes import add_robots
from enpire.cli.options.parser import Parser, add_start, print_json, task_asked
from enpire.errors import UsageError
from enpire.option_values import more_than_zero, positive, seed_number
from enpire.packs.finder import unknown
from enpire.session.progress_bar import progress_bar
from enpire.session.threads import leave_cores_to_physics

IN_CHECKOUT = (Path(__file__).parents[2] / "benchmarks" / "verbs").is_dir()  # not in wheels
TWIN = """\
Measure how well a part of the harness does on this machine.
twin: closed-loop steps a second of a fleet of twins, with policy, verification and recording, as a
fraction of raw mj_step in C on as many threads, from the same states, in the same run."""
OTHERS: Any = importlib.import_module("benchmarks.verbs") if IN_CHECKOUT else None
DESCRIPTION = TWIN + (OTHERS.DESCRIPTION if IN_CHECKOUT else "")
SUBJECTS: list[str] = OTHERS.SUBJECTS if IN_CHECKOUT else ["twin"]


def add_options(parser: Parser) -> None:
    """The options of `enpire bench`."""
    parser.add_argument(
        "subject",
        metavar="SUBJECT",
        help="what to measure: " + ", ".join(SUBJECTS),
    )
    add_robots(parser)
    parser.add_argument("--json", action="store_true", help="print the result last, as JSON")
    group = parser.add_argument_group("twin")
    others = " for twin, pin_box for fleet, else pick_cube" if IN_CHECKOUT else ""
    group.add_argument("--task", metavar="NAME", help=f"task to run (default zip_tie{others})")
    add_start(group)
    group.add_argument(
        "--policy",
        metavar="RUN[:NAME]",
        help="policy of a run that acts"
        + ("; for policy: a folder that LeRobot wrote" if IN_CHECKOUT else "")
        + " (default: random small motions)",
    )
    group.add_argument(
        "--blocks", type=positive, default=15, metavar="N", help="blocks to measure (default 15)"
    )
    group.add_argument(
        "--block-s",
        type=more_than_zero,
        default=1.4,
        metavar="S",
        help="length of a block [s] (default 1.4)",
    )
    group.add_argument(
        "--seed",
        type=seed_number,
        default=0,
        metavar="N",
        help="random seed of the bench (default 0)",
    )
    if IN_CHECKOUT:
        OTHERS.add_options(parser)


def run(options: Namespace) -> int:
    """Measure and print."""
    if options.subject != "twin" and not IN_CHECKOUT:
        raise UsageError(f"bench {options.subject} is not installed: run it from a checkout")
    if options.subject not in SUBJECTS:
        raise UsageError(unknown("subject", options.subject, SUBJECTS))
    with progress_bar(f"bench {options.subject}"):
        return _measure(options)


def _measure(options: Namespace) -> int:
    if options.subject == "fleet":
        options.task = options.task or "pin_box"
    if options.subject != "twin":
        return int(OTHERS.bench(options.subject).run(options))
    from enpire.environment import build_stations
    from enpire.observe import policy_loading
    from enpire.observe.bench import bench_twin
    from enpire.observe.result import versions

    leave_cores_to_physics()
    stations = build_stations(task_asked(options, "zip_tie"), options.robots)
    policy = None
    if options.policy:
        chosen = policy_loading.load(options.policy)
        policy_loading.require_fit(chosen.policy, stations, chosen.name)
        policy = chosen.policy
    with tempfile.TemporaryDirectory() as folder, progress_bar("measuring"):
        measured = bench_twin(
            stations,
            Path(folder) / "bench",
            policy,
            options.blocks,
            options.block_s,
            options.seed,
        )
    low, high = measured.fraction_range
    print(
        f"{measured.task}: closed loop {measured.closed_loop_steps_per_s:.0f} steps/s, raw C "
        f"{measured.raw_steps_per_s:.0f} steps/s on {measured.threads} threads; fraction "
        f"{measured.fraction_of_c:.3f} [{low:.3f}, {high:.3f}] over {measured.blocks} blocks, "
        f"policy {measured.policy_share:.1%} of the time"
    )
    if options.json:
        print_json(measured.as_json() | {"policy": options.policy, "versions": versions()})
    return 0
