"""`enpire bench policy`: how quickly a policy of LeRobot's answers and learns, beside LeRobot."""

from __future__ import annotations

import os
import tempfile
from argparse import Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from enpire.cli.options.parser import Parser, print_json
from enpire.option_values import natural, positive

if TYPE_CHECKING:
    from benchmarks.policy import LearningSpeed
    from enpire.policies import LeRobotPolicy

STATE, ACTION, CAMERAS = 14, 8, ("scene", "wrist")  # of the SmolVLA that is made


def add_options(parser: Parser) -> None:
    """The options of `enpire bench policy`."""
    group = parser.add_argument_group("policy")
    group.add_argument(
        "--size",
        choices=("tiny", "full"),
        default="tiny",
        help="size of a SmolVLA with random weights, used without --policy DIR (default tiny)",
    )
    group.add_argument(
        "--batch", type=positive, default=8, metavar="N", help="samples in a step (default 8)"
    )
    group.add_argument(
        "--steps", type=positive, default=20, metavar="N", help="steps in a block (default 20)"
    )
    group.add_argument(
        "--calls", type=positive, default=50, metavar="N", help="answers in a block (default 50)"
    )
    group.add_argument(
        "--workers",
        type=natural,
        default=min(4, os.cpu_count() or 1),
        metavar="N",
        help="processes of LeRobot's loader (default: 4, or the number of cores if smaller)",
    )


def run(options: Namespace) -> int:
    """Measure and print."""
    import torch

    from benchmarks.policy import Effort, bench_policy
    from enpire.observe.result import versions

    torch.set_num_threads(1)  # as who trains beside a fleet
    chosen = options.batch, options.steps, options.calls, options.workers, options.seed
    effort = Effort(*chosen)
    with tempfile.TemporaryDirectory() as folder:
        policy = _policy(options, Path(folder))
        measured = bench_policy(policy, Path(folder), effort)
    cameras, size = measured.pictures
    print(
        f"{measured.policy}, {measured.parameters / 1e6:.1f} million weights, {cameras} pictures "
        f"of {size} px; {measured.device}, learning in {measured.precision}"
    )
    for each in measured.answering:
        print(
            f"answers to {each.batch}: ours {_ms(each.ours)}, {_ms(each.together)} asked together, "
            f"LeRobot {_ms(each.lerobot)}; {each.ratio} times as quick"
        )
    for tuned in measured.learning:
        print(
            f"learning, {_what(tuned)}: ours {tuned.ours:.1f} samples/s, LeRobot "
            f"{tuned.lerobot:.1f}; {tuned.ratio} times as quick; "
            f"first step {tuned.first_s[0]:.1f} s and {tuned.first_s[1]:.1f} s; {_used(tuned)}"
        )
    if options.json:
        print_json(measured.as_json() | {"versions": versions()})
    return 0


def _policy(options: Namespace, folder: Path) -> LeRobotPolicy:
    from enpire.policies import LeRobotPolicy
    from enpire.policies.lerobot.blank import SIZES, smolvla

    if options.policy:
        return LeRobotPolicy.read(Path(options.policy))
    made = smolvla(folder / "policy", SIZES[options.size], STATE, ACTION, CAMERAS)
    return LeRobotPolicy.read(made)


def _ms(told: tuple[float, float]) -> str:
    median, p99 = (1e3 * seconds for seconds in told)
    return f"{median:.1f} ms (p99 {p99:.1f})"


def _what(tuned: LearningSpeed) -> str:
    millions = f"{tuned.learned / 1e6:.2f} million"
    return f"adapters of rank {tuned.rank} ({millions})" if tuned.rank else f"whole ({millions})"


def _used(tuned: LearningSpeed) -> str:
    ours, theirs = tuned.share
    if ours is None or theirs is None:
        return "no GPU to be used"
    return f"the GPU busy {ours:.0%} and {theirs:.0%} of the time"
