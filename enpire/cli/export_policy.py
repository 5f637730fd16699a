"""`enpire export policy`: a run's policy as the folder that LeRobot takes."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path

from enpire.cli.options.parser import Parser
from enpire.errors import UsageError
from enpire.session.progress_bar import progress_bar

DESCRIPTION = """\
Write a policy of a run as the folder that LeRobot's from_pretrained takes, and lerobot-eval,
lerobot-rollout and enpire's --policy. It has to be one of LeRobot's: a run that began with
--policy, or was made by dagger or finetune. Of a policy that stands on one of them (residual,
steered, specialist) --base writes what it stands on; the network beside it acts in enpire alone."""


def add_options(parser: Parser) -> None:
    """The options of `enpire export policy`."""
    parser.add_argument(
        "policy", metavar="RUN[:NAME]", help="policy to export: a run's best, or one by name"
    )
    parser.add_argument("folder", type=Path, metavar="DIR", help="folder to write; a new one")
    parser.add_argument(
        "--base",
        action="store_true",
        help="export the policy of LeRobot's that this policy stands on",
    )


def run(options: Namespace) -> int:
    """Write it."""
    from enpire.observe import policy_loading
    from enpire.policies import Composed, LeRobotPolicy

    with progress_bar("reading the policy"):
        chosen = policy_loading.load(options.policy)
    policy = chosen.policy
    if isinstance(policy, Composed):
        if not options.base:
            raise UsageError(
                f"{options.policy} is of kind {policy.kind!r}: a policy of LeRobot's and a network "
                "beside it, which LeRobot does not know. --base writes the first; to have one "
                "policy of both, let a round of finetune distil it"
            )
        policy = policy.base
    if not isinstance(policy, LeRobotPolicy):
        raise UsageError(
            f"{options.policy} is of kind {policy.kind!r}, which LeRobot does not know: "
            "name one that was given by --policy, or made of it by dagger or finetune"
        )
    with progress_bar("writing it"):
        policy.save(options.folder)
    print(options.folder)
    return 0
