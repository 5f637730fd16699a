"""Who helps a station that was set aside."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from enpire.errors import UsageError

if TYPE_CHECKING:
    from enpire.rollout.fleet.recovery import Recovery
    from enpire.store import LogEntry

LIMIT_S = 600.0  # that whoever helps may take


def noted(number: int, kind: str, station: int, text: str) -> LogEntry:
    """What happened in round `number` to a station that was set aside, for the ledger."""
    from enpire.store import LogEntry

    numbers = {"station": float(station)}
    return LogEntry(number, kind, f"station {station}: {text}", numbers=numbers)


@contextmanager
def open_recovery(
    command: str, limit_s: float | None, task: str, reset: str
) -> Iterator[Recovery | None]:
    """Have a shell command help stations that are set aside, until the block ends.

    Args:
        command: What the shell runs; empty for nobody.
        limit_s: How long it may take [s]; None for `LIMIT_S`.
        task: The task's name, which the command finds in its environment.
        reset: How scenes are put back; only a physical reset sets stations aside.

    Raises:
        UsageError: Somebody is to help where no station is ever set aside.
    """
    if not command:
        if limit_s is not None:
            raise UsageError("--recover-limit is what --recover may take: give both")
        yield None
        return
    if reset != "physical":
        raise UsageError("--recover is for --reset physical: no other sets stations aside")
    from enpire.rollout.fleet.recovery import Recovery

    with Recovery(command, LIMIT_S if limit_s is None else limit_s, task) as found:
        yield found
