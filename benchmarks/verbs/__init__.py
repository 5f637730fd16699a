"""Subjects of `enpire bench`, a module each: `add_options` where it has some, `run`."""

from __future__ import annotations

import importlib
from types import ModuleType

from enpire.cli.options.parser import Parser
from enpire.option_values import natural, positive

DESCRIPTION = """
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


def bench(name: str) -> ModuleType:
    """Return the module of a bench; all but `twin` have one."""
    return importlib.import_module(f"benchmarks.verbs.{name}")


def add_options(parser: Parser) -> None:
    """The options of benches that need a checkout."""
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
        bench(name).add_options(parser)
