"""Where hostile acts are tried: once where they are allowed, once in the sandbox.

An act is a short Python script that ends normally if it has got what it wanted. It finds in `given`
what it is about (paths, ports, numbers). The control is the same script where nothing holds it, so
that a script that could never work does not pass for one that is held.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import socketserver
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Any

import pytest

from enpire.sandbox import bubblewrap
from enpire.sandbox.limits import SandboxLimits
from enpire.sandbox.sandbox import Sandbox, available

needs_sandbox = pytest.mark.skipif(
    not available().works, reason=f"no sandbox here: {available().reason}"
)
HEAD = (
    "import ctypes, json, os, socket, stat, struct, sys, time\n"
    "exit = sys.exit; given = json.loads(sys.argv[1])\n"
)
CALL = """
def call(number, *args):
    libc = ctypes.CDLL(None, use_errno=True)
    words = [ctypes.c_long(arg) if isinstance(arg, int) else arg for arg in args]
    if libc.syscall(number, *words) < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
"""
SECRET = "the sealed seeds are 4711"
KEY = "key-that-no-agent-may-see"


class Allowed(Enum):
    """Where the control is run."""

    PLAIN = "in a process of ours"
    LOOSE = "in namespaces of its own, with all rights in them and no filter"
    SMALL = "in the sandbox, with what it is allowed to use"


@dataclass(frozen=True)
class Act:
    """What is tried. held: what stops it says so (a regular expression). given: beside the arena's.

    less: what it is given in the control instead, where that is no harm. root: nobody else may do
    that anywhere.
    """

    name: str
    script: str
    held: str
    allowed: Allowed = Allowed.PLAIN
    given: dict[str, Any] = field(default_factory=dict)
    less: dict[str, Any] = field(default_factory=dict)
    limits: SandboxLimits = field(default_factory=SandboxLimits)
    root: bool = False

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class Came:
    """What came of an act."""

    done: bool
    said: str


@dataclass
class Arena:
    """outside: what is not the agent's. workspace: what is."""

    outside: Path
    workspace: Path
    given: dict[str, Any]

    def control(self, act: Act) -> Came:
        """The act where it is allowed."""
        given = self.given | act.given | act.less
        command = [sys.executable, "-I", "-S", "-c", HEAD + CALL + act.script, json.dumps(given)]
        if act.allowed is Allowed.SMALL:
            return self._sandboxed(act, given)
        if act.allowed is Allowed.LOOSE:
            names = ("user", "net", "pid", "ipc", "uts")
            rights = ["--uid", "0", "--gid", "0", "--cap-add", "ALL", "--dev-bind", "/", "/"]
            command = ["bwrap", *(f"--unshare-{name}" for name in names), *rights, "--", *command]
        ended = subprocess.run(
            command,
            cwd=self.workspace,
            capture_output=True,
            text=True,
            env={"PATH": os.environ["PATH"], "AGENT_API_KEY": KEY},
            pass_fds=[self.given["secret_fd"]],
            timeout=60,
            check=False,
        )
        return Came(ended.returncode == 0, ended.stdout + ended.stderr)

    def tried(self, act: Act) -> Came:
        """The act in the sandbox."""
        return self._sandboxed(act, self.given | act.given)

    def _sandboxed(self, act: Act, given: dict[str, Any]) -> Came:
        sandbox = Sandbox(act.limits, bubblewrap.harness(), (self.workspace,))
        script = HEAD + CALL + act.script
        command = [bubblewrap.python(), "-I", "-S", "-c", script, json.dumps(given)]
        ended = sandbox.run(command)
        said = (ended.out + ended.err).decode(errors="replace")
        return Came(ended.code == 0 and not ended.breach, f"{said}\n{ended.breach}")

    def tidy(self) -> None:
        """Away with what acts have left."""
        for path in (*self.workspace.iterdir(), *self.outside.iterdir()):
            if path.name != "secret" or path.parent != self.outside:
                subprocess.run(["rm", "-rf", str(path)], check=True)

    def state(self) -> dict[str, str]:
        """All that is outside."""
        return {
            str(path.relative_to(self.outside)): path.read_text() if path.is_file() else ""
            for path in self.outside.rglob("*")
        }


class _Echo(socketserver.BaseRequestHandler):
    def handle(self) -> None:
        if isinstance(self.request, tuple):  # a datagram, and where it came to
            self.request[1].sendto(b"heard", self.client_address)
        else:
            self.request.recv(1000)
            self.request.sendall(b"heard")


@contextlib.contextmanager
def arena(tmp_path: Path) -> Iterator[Arena]:
    """A folder with a secret, one for the agent, and servers that answer whoever reaches them."""
    outside, workspace = tmp_path / "outside", tmp_path / "workspace"
    outside.mkdir()
    workspace.mkdir()
    (outside / "secret").write_text(SECRET)
    bubblewrap.hand_over(workspace)
    abstract = f"\0enpire-{os.getpid()}"
    servers: list[socketserver.BaseServer] = [
        socketserver.ThreadingTCPServer(("127.0.0.1", 0), _Echo),
        socketserver.ThreadingUDPServer(("127.0.0.1", 0), _Echo),
        socketserver.ThreadingUnixStreamServer(str(tmp_path / "socket"), _Echo),
        socketserver.ThreadingUnixStreamServer(abstract, _Echo),
    ]
    for server in servers:
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    secret = os.open(outside / "secret", os.O_RDONLY)
    with subprocess.Popen(["sleep", "1000"], env={"AGENT_API_KEY": KEY}) as victim:
        yield Arena(
            outside,
            workspace,
            {
                "outside": str(outside),
                "secret": str(outside / "secret"),
                "secret_fd": secret,
                "workspace": str(workspace),
                "tcp": servers[0].server_address[1],
                "udp": servers[1].server_address[1],
                "unix": str(tmp_path / "socket"),
                "abstract": abstract,
                "victim": victim.pid,
                "harness": os.getpid(),
                "key": KEY,
                "package": str(bubblewrap.harness()[0]),
            },
        )
        victim.kill()
    os.close(secret)
    for server in servers:
        server.shutdown()
        server.server_close()


def is_held(act: Act, place: Arena) -> None:
    """The act works where it is allowed; in the sandbox, what should stop it stops it."""
    place.tidy()
    allowed = place.control(act)
    assert allowed.done, f"{act.name}: the control came to nothing: {allowed.said}"
    place.tidy()
    before = place.state()
    came = place.tried(act)
    assert not came.done, f"{act.name}: it was not stopped: {came.said}"
    assert_said(act.held, came.said)
    assert place.state() == before


def assert_said(pattern: str, said: str) -> None:
    """What stops an act is what should; a script may fail for other reasons too."""
    assert re.search(pattern, said), f"stopped by something else than {pattern!r}: {said[-1000:]}"
