"""Processes that Gymnasium environments run in, each with an interpreter of its own."""

from __future__ import annotations

import errno
import os
import select
import subprocess
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from enpire.child_environment import child_environment
from enpire.environment.gym_bridge.gym_worker import messages
from enpire.environment.gym_bridge.gym_worker.words import printable
from enpire.errors import EnpireError, EnvironmentFault, UsageError
from enpire.json_text import loads
from enpire.packs.finder import GYM
from enpire.types import FloatArray

# That a worker may take to start, or for a reset; to answer else; to end.
START_S, ANSWER_S, END_S = 300.0, 60.0, 5.0
LEAVE_S = 30.0  # for one that has hung up, until its exit code is there
LARGEST = 2**30  # bytes of a message: what is longer is none
WORKER = Path(messages.__file__).parent

Came = messages.Came


class LostEnvironment(EnvironmentFault):
    """The process of an environment died, or hangs: the same job may do well on another."""


class Connection(Protocol):
    """An environment or a vector of them, wherever it is: `ask` begins what `answer` waits for.

    Its stations are called by their place in it, from 0.
    """

    about: dict[str, Any]

    def started(self) -> None:
        """Wait until it has said what is `about` it."""

    def ask(
        self, seeds: dict[int, int], actions: dict[int, FloatArray], scripted: list[int]
    ) -> None:
        """Reset some of its stations, each with a seed, and have others step an action.

        scripted: of these, for which it also says what its script would do next.
        """

    def answer(self) -> dict[int, Came]:
        """What came of each step, nothing of a reset; and the observation."""

    def close(self) -> None:
        """End it."""


class GymWorker:
    """An environment in a process with an interpreter of its own, `gym_worker` at its end."""

    def __init__(
        self, env_id: str, stations: int, python: str, key: str = "", script: str = ""
    ) -> None:
        """Start it; its first message is `about`. key, script: as `making.make` takes them."""
        self.about: dict[str, Any] = {}
        self._env_id, self._python = env_id, python
        self._asked: list[int] = []
        self._limit_s = ANSWER_S  # for what was asked
        self._said = tempfile.TemporaryFile()  # noqa: SIM115  its stderr: a pipe that nobody empties blocks
        try:
            self._process = subprocess.Popen(
                [python, str(WORKER), env_id, str(stations), key, script],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._said,
                env=child_environment(),
            )
        except OSError as error:
            if error.errno in (errno.EMFILE, errno.ENFILE):
                raise UsageError(
                    "no worker starts: too many files are open. Raise the limit (ulimit -n 65536), "
                    "or ask for fewer stations"
                ) from error
            raise UsageError(
                f"--python {python} does not start ({error.strerror}): give the interpreter of an "
                "environment with gymnasium and numpy, as VENV/bin/python"
            ) from error
        self._out = self._process.stdout.fileno() if self._process.stdout else -1

    def started(self) -> None:
        """Wait for its first message."""
        self.about, _ = self._receive(START_S)

    def ask(
        self, seeds: dict[int, int], actions: dict[int, FloatArray], scripted: list[int]
    ) -> None:
        """Send it what to do."""
        self._asked, self._limit_s = [*seeds, *actions], START_S if seeds else ANSWER_S
        told = {"seeds": list(seeds.items()), "rows": list(actions), "scripted": scripted}
        array = np.array(list(actions.values()))
        try:
            messages.send(self._process.stdin, told, array)  # type: ignore[arg-type]
        except BrokenPipeError:
            raise self._dead() from None

    def answer(self) -> dict[int, Came]:
        """Wait for what came of it."""
        message, array = self._receive(self._limit_s)
        seen = array.reshape(len(self._asked), self.about["observation"])
        return dict(zip(self._asked, zip(message["told"], seen, strict=True), strict=True))

    def close(self) -> None:
        """End it: it ends by itself when nobody can ask any more, unless it hangs."""
        if self._process.stdin is not None and self._process.poll() is None:
            with suppress(OSError):  # it has died with something unread
                self._process.stdin.close()
        try:
            self._process.wait(END_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        if self._process.stdout is not None:
            self._process.stdout.close()
        self._said.close()

    def _receive(self, limit: float) -> tuple[dict[str, Any], FloatArray]:
        """Return its next message, within `limit` seconds."""
        end = time.monotonic() + limit
        text, data = messages.LENGTHS.unpack(self._read(messages.LENGTHS.size, end))
        if text + data > LARGEST:
            raise self._nonsense()
        body = self._read(text + data, end)
        try:
            told, array = loads(body[:text]), np.frombuffer(body[text:], dtype="<f8")
        except ValueError as error:
            raise self._nonsense() from error
        if not isinstance(told, dict):
            raise self._nonsense()
        if "raised" in told or "unsuitable" in told:
            raise worker_error(self._env_id, told)
        return told, array

    def _nonsense(self) -> EnpireError:
        """What it writes is no worker's, as of a program that is no Python."""
        what = f"{GYM}{self._env_id}: what {self._python} writes is no message of a worker"
        if self.about:
            return LostEnvironment(f"{what}: does its environment write to file 1 itself?")
        return UsageError(f"{what}: give --python an interpreter of Python")

    def _read(self, size: int, end: float) -> bytes:
        """Exactly `size` bytes, before `end` on the monotonic clock."""
        data = b""
        while len(data) < size:
            if not select.select([self._out], [], [], max(end - time.monotonic(), 0.0))[0]:
                self._process.kill()
                self._process.wait()
                raise LostEnvironment(
                    f"the worker of {GYM}{self._env_id} hangs: no answer in the time it has; "
                    f"it was ended{self._last_words()}"
                )
            part = os.read(self._out, size - len(data))
            if not part:
                raise self._dead()
            data += part
        return data

    def _dead(self) -> LostEnvironment:
        try:
            code = self._process.wait(LEAVE_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            code = self._process.wait()
        return LostEnvironment(
            f"the worker of {GYM}{self._env_id} died (exit code {code}){self._last_words()}"
        )

    def _last_words(self) -> str:
        """The last line of words that it wrote to stderr, if any."""
        self._said.seek(0)
        text = self._said.read().decode(errors="replace").strip()
        lines = [line for line in text.splitlines() if any(map(str.isalnum, line))]
        return f"; its last words: {printable(lines[-1])}" if lines else ""


def worker_error(env_id: str, told: dict[str, Any]) -> EnpireError:
    """Return the error that a worker's message tells of."""
    if "unsuitable" in told:
        return UsageError(f"{GYM}{env_id} cannot be a station: {told['unsuitable']}")
    return EnvironmentFault(f"{GYM}{env_id}: {told['raised']}")
