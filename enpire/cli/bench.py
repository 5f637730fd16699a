"""`enpire bench`: how fast this machine is at what the loop does."""

from __future__ import annotations

import importlib
import tempfile
from argparse import Namespace
from pathlib import Path
from types import ModuleType

from enpire.cli.options.episodes import add_robots
from enpire.cli.options.parser import Parser, add_start, print_json, task_asked
from enpire.errors import UsageError
from enpire.option_values import more_than_zero, natural, positive, seed_number
from enpire.packs.finder import unknown
from enpire.session.progress_bar import progress_bar
from enpire.session.threads import leave_cores_to_physics

IN_CHECKOUT = (Path(__file__).parents[2] / "benchmarks" / "verbs").is_dir()  # not in wheels
TWIN = """\
Measure how well a part of the harness does on this machine.
twin: closed-loop steps a second of a fleet of twins, with policy, verification and recording, as a
fraction of raw mj_step in C on as many threads, from the same states, in the same run."""
OTHERS = """
recipes: every recipe from the same start, under the same budget, on the same tasks: success on
sealed seeds, robot-hours, training time. It takes hours; --stop-after ends it, and the same command
goes on where it was.
fleet: 1, 2, 4 and 8 stations to the target in real time, with resets, faults and training as real
ones have them: hours, robot-hours, utilisation. It takes as long as one station does.
statistics: how often candidates that are no better are promoted, how many episodes the test saves
over one of a fixed size, and how often intervals hold the true rate.
selection: which of several candidates to try next, to find a better one with few episodes.
safety: how soon a supervisor of arms stops when its policy is killed, freezes, floods or errs, and
how much later setpoints arrive through it.
data: samples a second, with pictures, from a run's files to the trainer, beside LeRobot's own
loader on the same episodes.
policy: how quickly a policy of LeRobot's answers and fine-tunes, through ours and by LeRobot's own
loop, on the GPU where there is one: --policy DIR, or a SmolVLA with random weights (--size).
fit: how well parameters that are hidden in twins are found again: arms', and those of an object
that they handle. Each draw is kept; the same command goes on where it was.
act: what an answer of our small policies takes, at 1 and 32 rows, beside torch's forward pass.
learner: gradient steps a second of critics and of cloning, beside a bare loop in torch.
store: how fast episodes are written and read back, beside a copy of the same bytes and LeRobot's
writer and loader.
loop: what a loop spends its processor time on: physics, policies, learning, the store, the rest.
vector: a task's stations beside Gymnasium's vector environments of a plain single one.
stations: episodes of a processor second, with 1 to 256 stations that run the same ones.
start: how long `enpire --help` and a first simulated step take, and how much memory.
dash: how much more processor time a loop takes while a browser shows its dashboard.
All but twin need a checkout."""
DESCRIPTION = TWIN + (OTHERS if IN_CHECKOUT else "")

SUBJECTS = [
    "act",
    "dash",
    "data",
    "fit",
    "fleet",
    "learner",
    "loop",
    "policy",
    "recipes",
    "safety",
    "selection",
    "start",
    "stations",
    "statistics",
    "store",
    "twin",
    "vector",
]
WITH_OPTIONS = [
    "recipes",
    "fleet",
    "statistics",
    "safety",
    "data",
    "policy",
    "fit",
    "dash",
    "store",
    "act",
    "learner",
    "loop",
]


def _subject(name: str) -> ModuleType:
    """Return the module of a bench; all but `twin` have one, in a checkout."""
    return importlib.import_module(f"benchmarks.verbs.{name}")


def add_options(parser: Parser) -> None:
    """The options of `enpire bench`."""
    parser.add_argument(
        "subject",
        metavar="SUBJECT",
        help="what to measure: " + ", ".join(SUBJECTS if IN_CHECKOUT else ["twin"]),
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
        parser.add_argument(
            "--turns",
            type=positive,
            default=5,
            metavar="N",
            help="turns of each side of act, learner, start, stations, store and vector; loops "
            "of loop (default 5)",
        )
        parser.add_argument(
            "--images",
            type=natural,
            default=0,
            metavar="N",
            help="width and height of the pictures that policies of loop, and all sides of vector, "
            "see [px]; 0: none (default 0)",
        )
        for name in WITH_OPTIONS:
            _subject(name).add_options(parser)


def run(options: Namespace) -> int:
    """Measure and print."""
    if options.subject not in SUBJECTS:
        raise UsageError(unknown("subject", options.subject, SUBJECTS))
    if options.subject != "twin" and not IN_CHECKOUT:
        raise UsageError(f"bench {options.subject} is not installed: run it from a checkout")
    with progress_bar(f"bench {options.subject}"):
        return _measure(options)


def _measure(options: Namespace) -> int:
    if options.subject == "fleet":
        options.task = options.task or "pin_box"
    if options.subject != "twin":
        return int(_subject(options.subject).run(options))
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
