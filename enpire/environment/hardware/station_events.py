"""What happens on stations with arms, for the ledger: stops, and faults that simulators tell."""

from __future__ import annotations

from collections import deque

from enpire.drivers.wire import Fault
from enpire.environment.core.station_backend import StationEvent
from enpire.environment.hardware.cell import HardwareCell

GRACE_S = 1.0  # after a fault's end, in which a stop still counts as its consequence
KEPT = 100  # stops a station


class StationEventLog:
    """The events of one station. A fault is told with its handling, once that is known."""

    def __init__(self, row: int, cell: HardwareCell) -> None:
        """Faults that were told before are no news."""
        self._row, self._cell = row, cell
        self._stops: deque[tuple[int, str]] = deque(maxlen=KEPT)
        self._open: list[tuple[Fault, str]] = []
        cell.wire.faults()

    def take(self, now: int, doing: str, last: bool) -> list[StationEvent]:
        """What has happened since; now: monotonic ns. doing: the episode under way, if any.

        last: tell of faults that are not over, too.
        """
        stops, self._cell.new_events = self._cell.new_events, []
        self._stops.extend(stops)
        found = [StationEvent("stop", self._row, reason) for _, reason in stops]
        self._open += [(fault, doing) for fault in self._cell.wire.faults()]
        for fault, during in list(self._open):
            end = fault.begun + round((fault.seconds + GRACE_S) * 1e9)
            if now > end or last:
                self._open.remove((fault, during))
                found.append(StationEvent("fault", self._row, self._handled(fault, end, during)))
        return found

    def _handled(self, fault: Fault, end: int, during: str) -> str:
        reasons = [reason for at, reason in self._stops if fault.begun <= at <= end]
        handling = "; ".join(dict.fromkeys(reasons)) or "no stop"
        where = f"in {during}" if during else "idle"
        return f"fault {fault.number}, {fault.text} for {fault.seconds:.2f} s, {where}: {handling}"
