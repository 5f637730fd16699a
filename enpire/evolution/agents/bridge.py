"""Inside of a sandbox: an MCP server on standard input and output, which passes all on to a socket.

Run as a script, `bridge.py SOCKET`. What an agent's program starts as its MCP server is this; the
tools themselves, and all that they know, are the harness's, at the other end of the socket.
Standard library only, without site-packages.
"""

from __future__ import annotations

import os
import socket
import sys
import threading


def main() -> int:
    """Pass on what both sides say, until either ends."""
    outside = socket.socket(socket.AF_UNIX)
    try:
        outside.connect(sys.argv[1])
    except OSError as error:
        print(f"the campaign does not answer ({error}): it may have ended", file=sys.stderr)
        return 1
    threading.Thread(target=_ask, args=(outside,), daemon=True).start()
    while part := outside.recv(65536):
        _write(part)
    return 0


def _ask(outside: socket.socket) -> None:
    while part := os.read(0, 65536):
        outside.sendall(part)
    outside.shutdown(socket.SHUT_WR)


def _write(part: bytes) -> None:
    while part:
        part = part[os.write(1, part) :]


if __name__ == "__main__":
    sys.exit(main())
