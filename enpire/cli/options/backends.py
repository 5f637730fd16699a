"""Where stations and trainers are: the options that say so."""

from __future__ import annotations

from argparse import Namespace
from contextlib import AbstractContextManager
from pathlib import Path

from enpire.cli.options.parser import Parser
from enpire.session.backends import Backend, open_backend

MOTION = {"--confirm-motion": "confirm_motion", "--dry-run": "dry_run"}


def add_cluster(parser: Parser) -> None:
    """The option that says where."""
    parser.add_argument(
        "--cluster",
        metavar="ADDRESS",
        default="",
        help="run stations and training on a Ray cluster: auto, HOST:PORT or ray://HOST:PORT",
    )


def add_arms(parser: Parser) -> None:
    """The options that say on which arms."""
    group = parser.add_argument_group("stations with arms (docs/station.md)")
    group.add_argument(
        "--station",
        metavar="FILE",
        type=Path,
        action="append",
        default=[],
        help="run on this station with arms, which has passed its check today; may be given again",
    )
    group.add_argument("--confirm-motion", action="store_true", help="allow the arms to move")
    group.add_argument(
        "--dry-run",
        action="store_true",
        help="run twins in place of the arms, under the same limits; write what arms would "
        "be sent to FILE's .sent.csv",
    )


def backend_words(options: Namespace) -> list[str]:
    """The options by which a run goes on where it was."""
    if options.cluster:
        return ["--cluster", options.cluster]
    words = [word for file in options.station for word in ("--station", str(file.resolve()))]
    return words + [flag for flag, given in MOTION.items() if getattr(options, given)]


def backend_of(options: Namespace) -> AbstractContextManager[Backend]:
    """Where, as the options say; what was started there ends with the block.

    Raises:
        UsageError: there is no such cluster, or no Ray.
    """
    return open_backend(options.cluster, options.station, options.confirm_motion, options.dry_run)
