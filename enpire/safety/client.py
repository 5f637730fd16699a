"""The other side of a supervisor: what it says, and setpoints, written shortly before it looks.

So none waits for long, and two looks after a writer's last sign of life its heartbeat has lapsed.
"""

from __future__ import annotations

import time
from pathlib import Path

from enpire.drivers.mailbox import Mailbox
from enpire.errors import SafetyError
from enpire.safety.messages import SetpointRequest, SupervisorStatus
from enpire.types import FloatArray

LEAD_S = 0.0003  # a setpoint is written before the supervisor looks; 0.25 ms is too late at times
AFTER_S = 0.001  # after its look: by then it has said what it sent
RESTS = 3  # periods in which rest was asked for: the supervisor has seen the last setpoint before
GONE_S = 0.2  # without a status: no supervisor runs


class StationClient:
    """What a policy holds of a station: two mailboxes."""

    def __init__(self, folder: Path) -> None:
        """Open them; folder: of the station's runtime. Raises SafetyError if nothing is there."""
        try:
            self._wanted = Mailbox(folder / "wanted")
            self._status = Mailbox(folder / "status")
        except OSError as error:
            raise SafetyError(f"no supervisor has been on this station: {error}") from error

    def status(self) -> SupervisorStatus:
        """What the supervisor said last; raises SafetyError if it says nothing any more."""
        newest = self._status.newest()
        if newest is None:
            raise SafetyError("the supervisor has said nothing yet")
        status = SupervisorStatus.decoded(newest[1])
        if time.monotonic_ns() - status.stamp > GONE_S * 1e9:
            raise SafetyError("the supervisor has said nothing for a while")
        return status

    def send(self, epoch: int, setpoint: FloatArray, rest: bool = False) -> None:
        """Write one setpoint, (axes,), stamped now."""
        self._wanted.put(SetpointRequest(epoch, time.monotonic_ns(), setpoint, rest).encoded())


def wait_for_look(status: SupervisorStatus) -> None:
    """Wait until shortly before the supervisor looks for a setpoint, next after `status`."""
    time.sleep(max(status.deadline * 1e-9 - LEAD_S - time.monotonic(), 0.0))


def wait_after_look(status: SupervisorStatus) -> None:
    """Wait until a little after that, when its next status is there."""
    time.sleep(max(status.deadline * 1e-9 - time.monotonic(), 0.0) + AFTER_S)
