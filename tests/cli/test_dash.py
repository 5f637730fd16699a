"""`enpire dash`: where it serves, and how it ends."""

from __future__ import annotations

import http.client
import os
import re
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from enpire.cli import main
from tests.observe.report.ledgers import write_run


@pytest.mark.parametrize(
    ("options", "words"),
    [(["nowhere"], "there is no folder nowhere"), (["--port", "70000"], "70000 is no port")],
)
def test_what_it_cannot_serve(
    options: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["dash", *options]) == 2
    assert words in capsys.readouterr().err


def test_a_port_that_is_taken(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        assert main(["dash", str(tmp_path), "--port", port]) == 2
    assert "choose another --port" in capsys.readouterr().err


@pytest.mark.medium
def test_it_says_where_it_serves_and_ends_by_ctrl_c(tmp_path: Path) -> None:
    write_run(tmp_path / "run").close()
    command = [sys.executable, "-m", "enpire.cli", "dash", str(tmp_path), "--port", "0"]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    ) as process:
        try:
            errors = _ended_by_ctrl_c(process)
        finally:
            process.kill()
    assert errors == ""
    assert process.returncode == 130


def _ended_by_ctrl_c(process: subprocess.Popen[str]) -> str:
    """Open a page, end the server, and return what it has said on stderr."""
    assert process.stdout is not None
    said = process.stdout.readline()
    found = re.search(r"http://127\.0\.0\.1:(\d+)/#token=(\S{32})$", said)
    assert found, said
    connection = http.client.HTTPConnection("127.0.0.1", int(found[1]), timeout=60.0)
    connection.request("GET", "/api/events")
    stream = connection.getresponse()
    assert stream.status == 200
    while not stream.readline().startswith(b'data: [{"name": "run"'):
        pass
    process.send_signal(signal.SIGINT)
    stream.read()  # raises if the stream does not end whole
    _, errors = process.communicate(timeout=60.0)
    return errors
