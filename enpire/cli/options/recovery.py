"""Who helps a station that was set aside: options of `loop` and `eval`."""

from __future__ import annotations

from enpire.cli.options.parser import Parser
from enpire.option_values import duration


def add_recovery(parser: Parser, title: str) -> None:
    """The options that say who helps a station that was set aside."""
    group = parser.add_argument_group(title)
    group.add_argument(
        "--recover",
        metavar="COMMAND",
        default="",
        help="shell command that sets up the scene of a station that is set aside; it gets "
        "ENPIRE_STATION, ENPIRE_REASON and ENPIRE_TASK, and says by exit code 0 that it"
        " has",
    )
    group.add_argument(
        "--recover-limit",
        type=duration,
        metavar="TIME",
        help="longest time that --recover may take (default 10m)",
    )
