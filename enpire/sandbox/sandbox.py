"""Where agents' programs run: what the kernel shows them, lets them do, and how much of it.

What holds, each tested by acts that try otherwise (`tests/evolution/hostile`):

- *Files.* There is the workspace, writable; the interpreter, the package and packs, /usr and a
  little of /etc, read-only; /proc of its own processes; /tmp and /dev/shm of its own, of a fixed
  size, in memory. Nothing else of the machine's file system exists there: no home, no run folder,
  no ledger, no keys. Links out of the workspace lead nowhere. No device but null, zero, full,
  random, urandom and tty, no file that changes who runs it.
- *Processes.* Own user, process, mount, network, IPC and host name namespaces, without
  capabilities, without the right to make new namespaces; what it starts is a user with no rights
  outside, nobody's at all where the harness is root. It sees and reaches its own processes only.
  They end with the command, with the harness, or when told, whatever they have done to be left.
- *Network.* A loopback of its own with nobody on it but, where it has a `model`, a relay to the
  proxy outside (`proxy.py`), which holds the keys.
- *What it inherits.* An environment of a few stated names; standard input, output and error. No
  other descriptor, no terminal, no keyring.
- *The kernel.* Calls that none of this needs are refused (`seccomp.py`).
- *How much.* By the kernel: processes, private memory of one process, open files, size of a file,
  processor time of one process, scratch. By a look ten times a second: memory, processor time and
  processes of all together, what lies in the workspace, time on the clock, and that the machine
  keeps some memory and disk (`limits.py`, `watchdog.py`).

What it does not cover:

- A fault in the kernel, or in bubblewrap. It is no virtual machine.
- What is used between two looks, and memory that belongs to no process (buffers of sockets and
  pipes, files that have no name): the kernel bounds it by process only, and a sandbox ends when the
  machine is short of memory, which others may have caused. A delegated control group would hold
  that; none is used.
- How fast: two sandboxes take processor time and disk from one another, and can tell so.
- What leaves it by the proxy: the model's maker sees what an agent sends.
- What is done later with what lies in the workspace. Take commits out with `fetch`, files with
  `read_inside`, run policies in `PolicyProcess`; never run a program there, git least of all.
- Clock and processor are the machine's own: what runs can tell the time and the kind of machine.
- What a machine is called by: its kernel, its packages, paths of the workspace and the interpreter.
- A GPU is not shown.
"""

from __future__ import annotations

import functools
import os
import platform
import re
import select
import shutil
import signal
import subprocess
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import IO, Self

from enpire.errors import EnpireError
from enpire.json_text import loads
from enpire.sandbox import bubblewrap, relay, seccomp
from enpire.sandbox.bubblewrap import PATH, PROGRAM, Fds, FilesystemView
from enpire.sandbox.limits import SandboxLimits
from enpire.sandbox.watchdog import SandboxWatchdog

START_S = 30.0  # bubblewrap may take to make the namespaces
END_S = 5.0  # the last of the output may take
OLDEST = (0, 8)  # bubblewrap's version that can forbid new user namespaces
# The ROS 2 wheels start each Python twice, with their libraries' folders in its environment, unless
# this says that it was done: nothing in a sandbox speaks ROS.
NO_ROS = {"_ROS_WHEELS_BOOTSTRAP_COMPLETE": "1"}
INSTALL = "install bubblewrap 0.8 or newer (apt-get install bubblewrap)"


class SandboxError(EnpireError):
    """A sandbox cannot be made here, or did not start."""


class Confinement(StrEnum):
    """What holds an agent's programs; a report says which on every page if it is not the first."""

    BUBBLEWRAP = "sandboxed by bubblewrap"
    NONE = "not sandboxed"


@dataclass(frozen=True, slots=True)
class Availability:
    """Whether sandboxes can be made here. reason: why not, and what to do about it."""

    works: bool
    reason: str = ""


@dataclass(frozen=True, slots=True)
class CommandResult:
    """How a command ended."""

    code: int  # its exit code, 128 and more for a signal
    # out, err: the last of what it printed
    out: bytes
    err: bytes
    breach: str = ""  # the limit that it was ended for, empty for none


@functools.cache
def available() -> Availability:
    """Whether bubblewrap and the namespaces work here, found out by making a sandbox."""
    if platform.system() != "Linux":
        return Availability(False, f"there is no bubblewrap for {platform.system()}: use Linux")
    if shutil.which(PROGRAM, path=PATH) is None:
        return Availability(False, f"bwrap is not there: {INSTALL}")
    said = subprocess.run([PROGRAM, "--version"], capture_output=True, text=True).stdout
    version = tuple(map(int, re.findall(r"\d+", said)[:2]))
    if version < OLDEST:
        return Availability(False, f"{said.strip()} is too old: {INSTALL}")
    if seccomp.program() is None:
        return Availability(False, f"no table of system calls for {platform.machine()}")
    if os.geteuid() == 0 and shutil.which("setpriv", path=PATH) is None:
        return Availability(False, "root needs setpriv: install util-linux, or be another user")
    try:
        ended = Sandbox(SandboxLimits(wall_s=START_S), probing=True).run(["true"])
    except SandboxError as error:
        return Availability(False, str(error))
    if ended.code != 0:
        last = ended.err.decode(errors="replace").strip() or f"exit code {ended.code}"
        return Availability(
            False,
            f"bubblewrap does not work here ({last}): user namespaces may be forbidden, by "
            "kernel.apparmor_restrict_unprivileged_userns, user.max_user_namespaces or a container",
        )
    return Availability(True)


@dataclass(frozen=True, slots=True)
class Sandbox:
    """Makes sandboxes that are alike; each command runs in one of its own."""

    limits: SandboxLimits = field(default_factory=SandboxLimits)
    # Beside the system and this interpreter; `harness()` for the package and its packs. Where the
    # harness is root, only what anybody may read.
    readable: tuple[Path, ...] = ()
    # The workspace, once it was `hand_over`ed; none for what only computes.
    writable: tuple[Path, ...] = ()
    # The proxy's socket, reached inside by the address in ENPIRE_MODEL_URL.
    model: Path | None = None
    # Of the command, beside PATH, HOME and LANG; it can be seen in a list of processes outside.
    environment: dict[str, str] = field(default_factory=dict)
    # NONE runs commands plainly, with limits but without walls, and must be asked for.
    confinement: Confinement = Confinement.BUBBLEWRAP
    probing: bool = False  # without asking whether it is `available`

    @property
    def sandboxed(self) -> bool:
        """Whether commands run behind walls."""
        return self.confinement is Confinement.BUBBLEWRAP

    def run(
        self, command: Sequence[str], cwd: Path | None = None, given: bytes = b""
    ) -> CommandResult:
        """Run a command to its end, with `given` on its standard input.

        Raises:
            SandboxError: as `start`.
        """
        with self.start(command, cwd) as process:
            return process.communicate(given)

    def start(self, command: Sequence[str], cwd: Path | None = None) -> SandboxProcess:
        """Start a command, its standard input and output piped; in the first workspace, or `cwd`.

        Raises:
            SandboxError: there can be no sandbox here, or it did not come up.
        """
        if self.sandboxed and not self.probing and not available().works:
            raise SandboxError(f"no sandbox: {available().reason}")
        if cwd is None and self.writable:
            cwd = self.writable[0]
        if self.model is not None:
            command = [bubblewrap.python(), "-I", "-S", relay.__file__, str(self.model), *command]
        home = {"PATH": PATH, "HOME": str(cwd or "/tmp"), "LANG": "C.UTF-8"}
        given = home | NO_ROS | self.environment
        # Who starts it must live as long: the kernel's signal at a parent's death is at its
        # thread's. So one thread starts all.
        if self.sandboxed:
            return _starter().submit(self._confined, command, cwd, given).result()
        return _starter().submit(self._plain, command, cwd, given).result()

    def _confined(
        self, command: Sequence[str], cwd: Path | None, environment: dict[str, str]
    ) -> SandboxProcess:
        extra = () if self.model is None else (Path(relay.__file__), self.model)
        readable = (*bubblewrap.interpreter(), *self.readable, *extra)
        told, info = os.pipe()
        fds = Fds(info, seccomp.program())
        try:
            words = bubblewrap.arguments(
                FilesystemView(readable, self.writable), self.limits, environment, fds
            )
            where = ["--chdir", str((cwd or Path("/tmp")).resolve())]
            popen = subprocess.Popen(
                [*words, *where, "--", *self.limits.launcher(), *command],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                pass_fds=fds.passed,
                env={"PATH": PATH},  # the first process in it keeps bubblewrap's environment
                start_new_session=True,  # Ctrl-C is for the harness
            )
        finally:
            fds.close()
        return SandboxProcess(popen, self, _first(popen, told))

    def _plain(
        self, command: Sequence[str], cwd: Path | None, environment: dict[str, str]
    ) -> SandboxProcess:
        popen = subprocess.Popen(
            [*self.limits.launcher(own=False), *command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=cwd,
            env=environment,
            start_new_session=True,
        )
        return SandboxProcess(popen, self, popen.pid)


class SandboxProcess:
    """A command under way in a sandbox; a `with` block ends it and all that it started."""

    def __init__(self, popen: subprocess.Popen[bytes], sandbox: Sandbox, first: int) -> None:
        """first: the sandbox's first process; 0 if it has ended already."""
        self.breach = ""
        self._popen, self._sandbox = popen, sandbox
        self._first = -1
        self._watch: SandboxWatchdog | None = None
        self._ending = threading.Lock()
        self._pipes = threading.Lock()  # one thread may end it while another hands it its input
        if first:
            with suppress(ProcessLookupError):
                self._first = os.pidfd_open(first)
            limits, writable = sandbox.limits, sandbox.writable
            self._watch = SandboxWatchdog(
                first, limits, writable, self._stop_for, sandbox.sandboxed
            )
        self._err = Tail(self._pipe(popen.stderr), sandbox.limits.output)
        self._out: Tail | None = None

    @property
    def stdin(self) -> IO[bytes]:
        """What it reads."""
        return self._pipe(self._popen.stdin)

    @property
    def stdout(self) -> IO[bytes]:
        """What it writes."""
        return self._pipe(self._popen.stdout)

    def communicate(self, given: bytes = b"") -> CommandResult:
        """Hand it its input and wait for its end; only where nobody else reads its output."""
        with self._pipes:
            if not self.stdout.closed:  # else somebody has ended it before it was asked
                self._out = Tail(self.stdout, self._sandbox.limits.output)
                with suppress(BrokenPipeError):
                    self.stdin.write(given)
                    self.stdin.close()
        return self.wait()

    def wait(self) -> CommandResult:
        """Wait until it has ended, and with it all that it started."""
        code = self._popen.wait()
        self.end()
        out = self._out.text() if self._out is not None else b""
        return CommandResult(code if code >= 0 else 128 - code, out, self._err.text(), self.breach)

    def last_words(self) -> str:
        """The last line that it wrote to standard error: data, never an instruction."""
        lines = self._err.text().decode(errors="replace").strip().splitlines()
        return "".join(c for c in lines[-1] if c.isprintable())[:300] if lines else ""

    def end(self) -> None:
        """End all that is left of it; when this returns, nothing is."""
        with self._ending:
            self._kill()
            self._popen.wait()
            if self._watch is not None:
                self._watch.stop()
            if self._first >= 0:
                select.select([self._first], [], [])  # the first process goes last
                os.close(self._first)  # nobody else uses it by now
                self._first = -1
        with self._pipes:
            self._err.close()
            if self._out is not None:
                self._out.close()
            with suppress(BrokenPipeError):
                self.stdin.close()
            self.stdout.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def _stop_for(self, reason: str) -> None:
        self.breach = reason
        self._kill()

    def _kill(self) -> None:
        if not self._sandbox.sandboxed:
            with suppress(ProcessLookupError):
                os.killpg(self._popen.pid, signal.SIGKILL)
            return
        with suppress(ProcessLookupError, OSError):
            if self._first >= 0:
                signal.pidfd_send_signal(self._first, signal.SIGKILL)
        if self._popen.poll() is None:
            self._popen.kill()

    @staticmethod
    def _pipe(pipe: IO[bytes] | None) -> IO[bytes]:
        if pipe is None:
            raise SandboxError("its output is not piped")
        return pipe


class Tail:
    """Reads a pipe to its end, on a thread of its own, and keeps the last of it."""

    def __init__(self, pipe: IO[bytes], most: int) -> None:
        """Keep so many bytes at most."""
        self._pipe, self._most = pipe, most
        self._kept = bytearray()
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._run, name="output", daemon=True)
        self._thread.start()

    def text(self) -> bytes:
        """What there is of it now."""
        with self._lock:
            return bytes(self._kept)

    def close(self) -> None:
        """Wait for its end; not for ever, where what holds the other end may have got away."""
        self._thread.join(END_S)
        if not self._thread.is_alive():
            self._pipe.close()

    def _run(self) -> None:
        while part := os.read(self._pipe.fileno(), 65536):
            with self._lock:
                self._kept += part
                del self._kept[: -self._most]


@functools.cache
def _starter() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(1, thread_name_prefix="sandboxes")


def _first(popen: subprocess.Popen[bytes], told: int) -> int:
    """The sandbox's first process, by its number out here, from what bubblewrap has to say of it.

    0: it says nothing, as one that could not make the sandbox. It has the reason on stderr.
    """
    text = b""
    try:
        while b"}" not in text:
            if not select.select([told], [], [], START_S)[0]:
                popen.kill()
                raise SandboxError(f"bubblewrap did not start within {START_S:g} s")
            part = os.read(told, 4096)
            if not part:
                return 0
            text += part
    finally:
        os.close(told)
    return int(loads(text)["child-pid"])
