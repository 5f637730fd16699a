"""Starting the supervisor of a station, and asking things of it, for as long as one wants it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from enpire.child_environment import child_environment
from enpire.closing import Closing
from enpire.drivers.commands import Caller
from enpire.errors import SafetyError
from enpire.safety.permit import Permit
from enpire.safety.station import StationFile

END_S = 15.0
FLAGS = {Permit.MOTION: "--confirm-motion", Permit.DRY: "--dry-run"}


class Supervision(Closing):
    """A supervisor's process. It brakes, holds and ends when this does, or its process."""

    def __init__(self, station: StationFile, permit: Permit) -> None:
        """Start it; raises SafetyError with what it says if it does not come up."""
        self.folder: Path = station.runtime
        self.process = subprocess.Popen(
            [sys.executable, "-m", "enpire.safety.process", str(station.path), FLAGS[permit]],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=child_environment(),
            start_new_session=True,  # Ctrl-C is for its owner
        )
        if self.process.stdout is None:
            raise SafetyError("the supervisor has no output")
        said = self.process.stdout.readline().strip()
        if said != "ready":
            self.process.communicate()
            raise SafetyError(f"the supervisor of {station.path} does not start: {said}")
        self._caller = Caller(self.folder)

    def ask(self, word: str) -> dict[str, object]:
        """Arm, recover, park, disarm, episode, stop, emergency, status; raises SafetyError."""
        return self._caller.ask(word)

    def close(self) -> None:
        """End it: it brakes and holds first."""
        self._caller.close()
        try:
            self.process.communicate(timeout=END_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.communicate()
            raise SafetyError("the supervisor did not end: it was killed") from None
