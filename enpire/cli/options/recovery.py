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
        help="run by the shell for a station that is set aside, with ENPIRE_STATION, ENPIRE_REASON "
        "and ENPIRE_TASK set: exit code 0 says that its scene is set up again",
    )
    group.add_argument(
        "--recover-limit",
        type=duration,
        metavar="TIME",
        help="that it may take (default 10m)",
    )
