"""Who helps a station that was set aside: options of `loop` and `eval`."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from enpire.commands.options import Parser, duration
from enpire.errors import UsageError

if TYPE_CHECKING:
    from enpire.rollout.recovery import Recovery
    from enpire.store import LogEntry


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
        default=600.0,
        help="that it may take (default 10m)",
    )


def noted(number: int, kind: str, station: int, text: str) -> LogEntry:
    """What happened in round `number` to a station that was set aside, for the ledger."""
    from enpire.store import LogEntry

    numbers = {"station": float(station)}
    return LogEntry(number, kind, f"station {station}: {text}", numbers=numbers)


@contextmanager
def recovery(options: Namespace, task: str, reset: str) -> Iterator[Recovery | None]:
    """Who helps stations that are set aside, as the options say."""
    from enpire.rollout.recovery import Recovery

    if not options.recover:
        yield None
    elif reset != "physical":
        raise UsageError("--recover is for --reset physical: no other sets stations aside")
    else:
        with Recovery(options.recover, options.recover_limit, task) as found:
            yield found
