"""Inside of a sandbox: carries connections to its loopback out to the proxy's Unix socket.

Run as a script, `relay.py SOCKET COMMAND...`: it listens, starts the command, and ends with it and
with its exit code. Programs know how to reach an API over TCP and few over a Unix socket, and there
is no other way out. It holds no key and decides nothing: whatever runs beside it may do the same.
The command finds its address where its words or its environment say `{model}`, and in
`ENPIRE_MODEL_URL`; without walls the port may be taken, and another one is. Standard library only,
without site-packages.
"""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
import threading

MODEL = "{model}"
HOST, PORT = "127.0.0.1", 8791


def listen(port: int) -> socket.socket:
    """Listen on the loopback at the port, or at a free one where it is taken."""
    try:
        return socket.create_server((HOST, port))
    except OSError:
        return socket.create_server((HOST, 0))


def serve(listening: socket.socket, way_out: str) -> None:
    """Carry every connection, for ever."""
    while True:
        inside, _ = listening.accept()
        outside = socket.socket(socket.AF_UNIX)
        try:
            outside.connect(way_out)
        except OSError:  # the proxy has gone: so has the model
            inside.close()
            continue
        for source, sink in ((inside, outside), (outside, inside)):
            threading.Thread(target=carry, args=(source, sink), daemon=True).start()


def carry(source: socket.socket, sink: socket.socket) -> None:
    """Pass bytes on until one side closes, and tell the other."""
    with contextlib.suppress(OSError):
        while part := source.recv(65536):
            sink.sendall(part)
    with contextlib.suppress(OSError):
        sink.shutdown(socket.SHUT_WR)


def main() -> int:
    """Relay while the command runs."""
    listening = listen(PORT)
    port = listening.getsockname()[1]
    args = (listening, sys.argv[1])
    threading.Thread(target=serve, args=args, daemon=True).start()
    url = f"http://{HOST}:{port}"
    words = [word.replace(MODEL, url) for word in sys.argv[2:]]
    environment = {name: value.replace(MODEL, url) for name, value in os.environ.items()}
    environment["ENPIRE_MODEL_URL"] = url
    code = subprocess.run(words, env=environment, check=False).returncode
    return code if code >= 0 else 128 - code


if __name__ == "__main__":
    sys.exit(main())
