"""An agent's policy as a controller: a process in a sandbox, asked over a pipe.

It never shares a process with the simulator, the verifier or a seed. Whatever it does wrong is its
own fault: it dies, takes too long, answers with another shape or with what is no number, or speaks
unasked. Each raises PolicyFault, then and whenever it is asked again, and episodes that it acts in
end as failures: none is void because the policy went down with it.
"""

from __future__ import annotations

import fcntl
import os
import select
import shutil
import tempfile
import threading
import time
import weakref
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from enpire.environment.control.sensing import Readings
from enpire.errors import PolicyFault
from enpire.evolution.program_policies import policy_worker
from enpire.evolution.program_policies.policy_worker import ANSWER, QUESTION
from enpire.sandbox import bubblewrap
from enpire.sandbox.limits import GIB, MIB, SandboxLimits
from enpire.sandbox.sandbox import Confinement, Sandbox, SandboxProcess
from enpire.twin.twin import Rows
from enpire.types import Float32Array

LONGEST_PLAN = 256  # periods
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")  # stations' cores
FOLDER = "enpire-policy-"  # in the folder for temporary files
YOUNG_S = 60.0  # a folder that nobody has locked yet may be one that is being made
SETTLED = 20  # answers, from which on their mean counts


@dataclass(frozen=True, slots=True)
class PolicyLimits:
    """How long a policy may take to start and to answer [s], and what its sandbox may use.

    By the clock, so that one that sleeps is found: generous, for others use the machine too.
    pace_s: that an answer may take on average, since stations wait for it. Several policies act at
    a time, each with its own memory.
    """

    start_s: float = 120.0
    answer_s: float = 20.0
    pace_s: float = 0.5
    use: SandboxLimits = field(
        default_factory=lambda: SandboxLimits(
            memory=GIB, processes=64, scratch=256 * MIB, output=64 * 1024
        )
    )


class PolicyProcess:
    """Drives the program in `files` on any number of stations; a `ChunkedController`.

    It is given no seed and no exploration: what a policy could draw from them would tell it which
    episode it is in. fault: what ended it, in one line; empty while it runs.
    """

    def __init__(
        self,
        files: Mapping[str, bytes],
        observation: int,
        action: int,
        limits: PolicyLimits | None = None,
        confinement: Confinement = Confinement.BUBBLEWRAP,
    ) -> None:
        """Start it; the first `act` waits until it is there.

        Raises:
            SandboxError: there is no sandbox here.
        """
        self.fault = ""
        self._limits = limits or PolicyLimits()
        self._observation, self._action = observation, action
        self._ready = False
        self._answers, self._waited_s = 0, 0.0
        self._begun: list[int] = []
        self._telling = threading.Lock()  # a station may begin while others wait for an answer
        self._plans: dict[int, Float32Array] = {}
        self._seen: dict[int, Float32Array] = {}
        folder = Path(tempfile.mkdtemp(prefix=FOLDER))
        lock = _locked(folder)
        try:
            for name, data in files.items():
                path = folder / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(data)
            bubblewrap.hand_over(folder)
            self._process = self._started(folder, confinement)
        except BaseException:
            shutil.rmtree(folder)
            os.close(lock)
            raise
        self.close = weakref.finalize(self, _close, self._process, folder, lock)

    def _started(self, folder: Path, confinement: Confinement) -> SandboxProcess:
        # What it may read is in a folder that it may not write, and it has no workspace.
        readable = (folder, *bubblewrap.harness())
        sandbox = Sandbox(
            self._limits.use, readable, environment=dict(ONE_THREAD), confinement=confinement
        )
        sizes = [str(self._observation), str(self._action)]
        script = ["-I", "-B", str(Path(policy_worker.__file__).resolve())]
        process = sandbox.start([bubblewrap.python(), *script, str(folder.resolve()), *sizes])
        for pipe in (process.stdin, process.stdout):
            os.set_blocking(pipe.fileno(), False)
        return process

    def begin(self, row: int, rng: np.random.Generator, exploration: float) -> None:
        """It hears of the new episode when it is asked next."""
        with self._telling:
            if row not in self._begun:
                self._begun.append(row)
        self._plans.pop(row, None)
        self._seen.pop(row, None)

    def act(self, rows: Rows, observations: Float32Array, readings: Readings) -> Float32Array:
        """What it answers; only observations cross over, never readings.

        Raises:
            PolicyFault: it is at fault, now or since before.
        """
        if self.fault:
            raise PolicyFault(self.fault)
        try:
            plans = self._ask(rows, observations)
        except _Fault as fault:
            self.fault = self._described(str(fault))
            self.close()
            raise PolicyFault(self.fault) from None
        self._plans |= dict(zip(rows.tolist(), plans[:, 1:], strict=True))
        return plans[:, 0]

    def plan(self, row: int) -> Float32Array:
        """The rest of what it decided for a station."""
        return self._plans.pop(row, np.empty((0, self._action), np.float32))

    def saw(self, row: int, observations: Float32Array) -> None:
        """It hears of that when it is asked next, as it is now."""
        self._seen[row] = observations

    def _ask(self, rows: Rows, observations: Float32Array) -> Float32Array:
        """Plans (m, k, act)."""
        if not self._ready:
            if ANSWER.unpack(self._read(ANSWER.size, self._limits.start_s)) != (0, 0):
                raise _Fault("spoke before it was asked")
            self._ready = True
        if select.select([self._process.stdout], [], [], 0)[0]:
            self._read(1, 0.0)  # what it has to say may be its end
            raise _Fault("spoke before it was asked")
        began = time.monotonic()
        end = began + self._limits.answer_s
        self._write(self._question(rows, observations), end)
        stations, periods = ANSWER.unpack(self._read(ANSWER.size, self._limits.answer_s, end))
        if stations != len(rows) or not 1 <= periods <= LONGEST_PLAN:
            raise _Fault(
                f"answered {len(rows)} stations with actions for {stations}, of {periods} periods"
            )
        size = 4 * stations * periods * self._action
        plans = np.frombuffer(self._read(size, self._limits.answer_s, end), "<f4")
        if not np.isfinite(plans).all():
            raise _Fault("answered with actions that are not finite numbers")
        self._keep_pace(time.monotonic() - began)
        return plans.reshape(stations, periods, self._action).astype(np.float32)

    def _keep_pace(self, took_s: float) -> None:
        self._answers, self._waited_s = self._answers + 1, self._waited_s + took_s
        mean = self._waited_s / self._answers
        if self._answers >= SETTLED and mean > self._limits.pace_s:
            raise _Fault(f"took {mean:.2g} s for an answer, on average")

    def _question(self, rows: Rows, observations: Float32Array) -> bytes:
        seen = [
            np.concatenate([self._seen.pop(row), now[None]]) if row in self._seen else now[None]
            for row, now in zip(rows.tolist(), observations, strict=True)
        ]
        counts = np.array([len(one) for one in seen], "<i4")
        with self._telling:
            begun, self._begun = np.array(self._begun, "<i4"), []
        head = QUESTION.pack(len(begun), len(rows), int(counts.sum()))
        told = np.concatenate(seen).astype("<f4")
        parts = (begun, np.asarray(rows, "<i4"), counts, told)
        return head + b"".join(part.tobytes() for part in parts)

    def _write(self, data: bytes, end: float) -> None:
        out, rest = self._process.stdin.fileno(), memoryview(data)
        while rest:
            if not select.select([], [out], [], max(end - time.monotonic(), 0.0))[1]:
                raise _Fault(f"did not listen for {self._limits.answer_s:g} s")
            try:
                rest = rest[os.write(out, rest) :]
            except BrokenPipeError:
                raise _Fault("died") from None

    def _read(self, size: int, limit: float, end: float | None = None) -> bytes:
        """Exactly `size` bytes, within `limit` seconds or before `end` on the monotonic clock."""
        end = time.monotonic() + limit if end is None else end
        out, data = self._process.stdout.fileno(), b""
        while len(data) < size:
            if not select.select([out], [], [], max(end - time.monotonic(), 0.0))[0]:
                raise _Fault(f"did not answer within {limit:g} s")
            part = os.read(out, size - len(data))
            if not part:
                raise _Fault("died")
            data += part
        return data

    def _described(self, what: str) -> str:
        """Describe it in one line, with its last words: data, however they read."""
        self._process.end()
        if self._process.breach:
            return f"the policy's program was ended: {self._process.breach}"
        words = self._process.last_words()
        return f"the policy's program {what}" + (f"; its last words: {words!r}" if words else "")


class _Fault(Exception):
    """What the program did."""


def sweep(young_s: float = YOUNG_S) -> None:
    """Remove folders of processes that are gone: a harness that was killed could not.

    young_s: how old one is that nobody is making any more [s].
    """
    for folder in Path(tempfile.gettempdir()).glob(f"{FOLDER}*"):
        with suppress(OSError):  # another user's, in use, or gone meanwhile
            if time.time() - folder.lstat().st_mtime >= young_s:
                lock = _locked(folder)
                try:
                    shutil.rmtree(folder)
                finally:
                    os.close(lock)


def _locked(folder: Path) -> int:
    """A descriptor that holds a lock on it for as long as this process lives.

    Raises:
        OSError: another holds it, or it is no folder of ours.
    """
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


def _close(process: SandboxProcess, folder: Path, lock: int) -> None:
    process.end()
    shutil.rmtree(folder)
    os.close(lock)
