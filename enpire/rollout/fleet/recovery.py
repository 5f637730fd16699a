"""Help for stations that were set aside: a command that sets a scene up, or fetches who does."""

from __future__ import annotations

import os
import queue
import signal
import subprocess
import tempfile
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from typing import IO

from enpire.child_environment import child_environment
from enpire.closing import Closing
from enpire.errors import UsageError


@dataclass(frozen=True, slots=True)
class HelpCall:
    """How a call for help ended. came: the station's scene has been set up again."""

    station: int
    came: bool
    said: str


class Recovery(Closing):
    """Runs a shell command for each station that is set aside; a `with` block ends what is left.

    The command finds `ENPIRE_STATION`, `ENPIRE_REASON` and `ENPIRE_TASK` in its environment, and
    nothing on its standard input. That it exits with 0 within the limit says that the scene is set
    up again. Commands of several stations run at the same time, and nobody waits for them.
    """

    def __init__(self, command: str, limit_s: float, task: str) -> None:
        """Raises UsageError for an empty command."""
        if not command.strip():
            raise UsageError("--recover is empty: give a command that sets a station's scene up")
        self._command, self._limit_s, self._task = command, limit_s, task
        self._under_way: dict[int, subprocess.Popen[bytes]] = {}
        self._ended: queue.Queue[HelpCall] = queue.Queue()

    @property
    def under_way(self) -> bool:
        """Whether any command has not been heard of yet."""
        return bool(self._under_way)

    def call(self, station: int, reason: str) -> None:
        """Start the command for a station."""
        told = {
            "ENPIRE_STATION": str(station),
            "ENPIRE_REASON": reason,
            "ENPIRE_TASK": self._task,
        }
        output = tempfile.TemporaryFile()  # noqa: SIM115  the watching thread closes it
        process = subprocess.Popen(
            self._command,
            shell=True,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            env=child_environment(told),
            start_new_session=True,  # Ctrl-C is for the loop; and what it starts ends with it
        )
        self._under_way[station] = process
        watching = (station, process, output)
        threading.Thread(target=self._watch, args=watching, name="recover", daemon=True).start()

    def take_ended(self, wait_s: float = 0.0) -> list[HelpCall]:
        """The calls that have ended since; wait so long for one."""
        found: list[HelpCall] = []
        with suppress(queue.Empty):
            found.append(self._ended.get(timeout=wait_s) if wait_s else self._ended.get_nowait())
            while True:
                found.append(self._ended.get_nowait())
        for help_ in found:
            del self._under_way[help_.station]
        return found

    def close(self) -> None:
        """End what is under way."""
        for process in self._under_way.values():
            _end(process)

    def _watch(self, station: int, process: subprocess.Popen[bytes], output: IO[bytes]) -> None:
        began = time.monotonic()
        try:
            code = process.wait(self._limit_s)
            how = f"exited with {code} after {time.monotonic() - began:.0f} s"
        except subprocess.TimeoutExpired:
            _end(process)
            code, how = process.wait(), f"was ended after {self._limit_s:g} s"
        with output:
            output.seek(0)
            lines = output.read().decode(errors="replace").strip().splitlines()
        last = f", its last words: {lines[-1]}" if lines else ""
        self._ended.put(HelpCall(station, code == 0, f"{self._command!r} {how}{last}"))


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a command and what it started, unless it is over."""
    if process.poll() is None:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
