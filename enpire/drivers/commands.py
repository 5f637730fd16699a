"""What is asked of a supervisor, or of a simulated station: one datagram a command, one an answer.

The socket lies in the station's runtime folder, that only this user may open. A policy is given the
mailboxes and not the socket: what it can say are setpoints.
"""

from __future__ import annotations

import json
import os
import select
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from enpire.errors import SafetyError
from enpire.json_text import loads

SOCKET = "commands"
LONGEST = 4096  # bytes
ANSWER_S = 2.0


@contextmanager
def _address(folder: Path) -> Iterator[str]:
    """Give a name of the folder's socket that is short, however long the folder's own path is.

    The kernel takes 107 bytes at most. Raises OSError if the folder cannot be opened.
    """
    handle = os.open(folder, os.O_PATH | os.O_DIRECTORY)
    try:
        yield f"/proc/self/fd/{handle}/{SOCKET}"
    finally:
        os.close(handle)


class Commands:
    """The end that is asked. It never waits."""

    def __init__(self, folder: Path, answer: Callable[[str], dict[str, object]]) -> None:
        """Listen; answer: does what a word asks, says what came of it, may raise SafetyError."""
        (folder / SOCKET).unlink(missing_ok=True)
        self._answer = answer
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._listener.setblocking(False)
        with _address(folder) as address:
            self._listener.bind(address)
        self._listener.listen(8)
        self._callers: dict[int, socket.socket] = {}
        self._poll = select.poll()
        self._poll.register(self._listener, select.POLLIN)

    def serve(self) -> None:
        """Answer what has come, one command of each caller."""
        for handle, _ in self._poll.poll(0):
            if handle == self._listener.fileno():
                caller, _ = self._listener.accept()
                caller.setblocking(False)
                self._callers[caller.fileno()] = caller
                self._poll.register(caller, select.POLLIN)
            else:
                self._serve(handle, self._callers[handle])

    def close(self) -> None:
        """Hang up."""
        for caller in [*self._callers.values(), self._listener]:
            caller.close()

    def _serve(self, handle: int, caller: socket.socket) -> None:
        try:
            word = caller.recv(LONGEST)
            if not word:
                raise ConnectionResetError
            caller.send(json.dumps(self._answer_to(word)).encode())
        except OSError:  # the caller has gone, or takes no answer
            self._poll.unregister(handle)
            self._callers.pop(handle).close()

    def _answer_to(self, word: bytes) -> dict[str, object]:
        try:
            return {"ok": True, **self._answer(word.decode(errors="replace"))}
        except SafetyError as error:
            return {"ok": False, "error": str(error)}


class Caller:
    """The other end."""

    def __init__(self, folder: Path, who: str = "supervisor") -> None:
        """Call `who` listens in `folder`; raises SafetyError if nobody does."""
        self._who = who
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._socket.settimeout(ANSWER_S)
        try:
            with _address(folder) as address:
                self._socket.connect(address)
        except OSError as error:
            self._socket.close()
            raise SafetyError(f"no {who} runs on this station") from error

    def ask(self, word: str) -> dict[str, object]:
        """Send a command and return the answer; raises SafetyError with what it refuses for."""
        try:
            self._socket.send(word.encode())
            said = self._socket.recv(LONGEST)
        except OSError as error:
            raise SafetyError(f"the {self._who} does not answer to {word}: {error}") from error
        if not said:
            raise SafetyError(f"the {self._who} has ended")
        answer: dict[str, object] = loads(said)
        if not answer.pop("ok"):
            raise SafetyError(str(answer["error"]))
        return answer

    def close(self) -> None:
        """Hang up."""
        self._socket.close()
