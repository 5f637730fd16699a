"""Options on the episodes of a measurement, which several verbs have."""

from __future__ import annotations

from pathlib import Path

from enpire.cli.options.parser import Parser
from enpire.option_values import positive, seed_number
from enpire.session.loop_settings import SETTINGS


def add_robots(parser: Parser, default: int = 4) -> None:
    """`--robots`: how many stations."""
    parser.add_argument(
        "--robots",
        type=positive,
        default=default,
        metavar="N",
        help=f"stations; each runs one episode at a time (default {default})",
    )


def add_seed(parser: Parser) -> None:
    """`--seed`, None where it is not given: episodes are new ones then."""
    parser.add_argument(
        "--seed",
        type=seed_number,
        metavar="N",
        help="random seed; the same N gives the same episodes (default: new ones)",
    )


def add_verifier(parser: Parser) -> None:
    """`--verify`: what a verdict is made from."""
    read, default, line = SETTINGS["verify"]
    parser.add_argument(
        "--verify", type=read, default=default, metavar="WITH", help=f"{line} (default {default})"
    )


def add_episodes_folder(parser: Parser) -> None:
    """`--run`, for a measurement of policies."""
    parser.add_argument(
        "--run",
        type=Path,
        metavar="DIR",
        help="folder of a new run that keeps the episodes (default: they are not kept)",
    )
