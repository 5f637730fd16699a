"""What clients may take: over real sockets, since it is about them."""

from __future__ import annotations

import http.client
import json
import signal
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import uvicorn

from enpire.dashboard import app
from enpire.dashboard.watched_run import WatchedRun
from enpire.store import LogEntry
from enpire.web import access, limits
from tests.dashboard.serving import Served, served
from tests.observe.report.ledgers import write_run

SOON_S = 60.0  # that a test waits for what should take a fraction of it


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Requests have little time, and there are few connections."""
    monkeypatch.setattr(limits, "REQUEST_S", 0.2)
    monkeypatch.setattr(limits, "CONNECTIONS", 8)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Served]:
    write_run(tmp_path / "run").close()
    with served(tmp_path) as found:
        yield found


def _connect(server: Served) -> socket.socket:
    return socket.create_connection(("127.0.0.1", server.port), timeout=SOON_S)


def _ends(client: socket.socket) -> bool:
    """Whether the server ends a connection soon."""
    try:
        while client.recv(4096):
            pass
    except ConnectionResetError:
        return True
    except TimeoutError:
        return False
    return True


@pytest.mark.parametrize(
    "sent", [b"", b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n", b"POST /api/control HT"]
)
def test_a_request_that_does_not_arrive_ends_its_connection(
    server: Served, short: None, sent: bytes
) -> None:
    with _connect(server) as client:
        client.sendall(sent)
        assert _ends(client)


def test_half_open_connections_take_no_threads_and_shut_nobody_out_for_long(
    server: Served, short: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = threading.active_count()
    clients = [_connect(server) for _ in range(40)]
    assert threading.active_count() <= before + 2
    assert all(_ends(client) for client in clients)
    for client in clients:
        client.close()
    monkeypatch.setattr(limits, "REQUEST_S", SOON_S)  # who comes late now is held up, too
    answer = _get(server, "/metrics")
    assert answer[0] == 200


def test_a_body_that_trickles_is_given_up(server: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits.read_body, "__defaults__", (limits.BODY, 0.2))
    head = (
        f"POST /api/control HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {server.token}\r\n"
        "Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{"
    )
    with _connect(server) as client:
        client.sendall(head.encode())
        assert client.recv(4096).startswith(b"HTTP/1.1 408")


@pytest.mark.parametrize("length", ["-1", "x", "1e3", "99999999999999999999"])
def test_a_content_length_that_makes_no_sense_is_refused(server: Served, length: str) -> None:
    head = (
        f"POST /api/control HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {server.token}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n"
    )
    with _connect(server) as client:
        client.sendall(head.encode())
        assert client.recv(4096).split()[1] in (b"400", b"413")


def test_headers_without_end_are_refused(server: Served) -> None:
    with _connect(server) as client:
        client.sendall(b"GET / HTTP/1.1\r\n")
        try:
            client.sendall(b"X: " + b"a" * 10 * limits.HEAD)
            assert client.recv(4096).startswith(b"HTTP/1.1 400")
        except (BrokenPipeError, ConnectionResetError):
            pass  # it has hung up in the middle, which is a refusal too


def test_a_reader_of_events_that_does_not_read_is_let_go(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(access, "TAKE_S", 0.1)
    monkeypatch.setattr(app, "EVERY_S", 0.0)
    monkeypatch.setattr(app, "STREAMS", 1)
    counted = iter(range(10**9))
    monkeypatch.setattr(app.views, "run_line", lambda run: f"{next(counted)}{'x' * 10**6}")
    write_run(tmp_path / "run").close()
    with served(tmp_path) as server, _connect(server) as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.sendall(b"GET /api/events HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        assert client.recv(12) == b"HTTP/1.1 200"
        end = time.monotonic() + SOON_S
        while (status := _stream_status(server)) == 503 and time.monotonic() < end:
            time.sleep(0.02)
        assert status == 200, "its place was given to another"


def test_there_are_only_so_many_streams(server: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(app, "STREAMS", 1)
    with _connect(server) as client:
        client.sendall(b"GET /api/events HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        seen = client.recv(12)
        assert seen == b"HTTP/1.1 200"
        while b"event: " not in seen:  # it counts once its first event is on the way
            part = client.recv(4096)
            assert part, "the stream ended"
            seen += part
        assert _stream_status(server) == 503


def test_a_server_that_ended_in_this_process_cuts_no_stream_off(
    server: Served,
) -> None:
    uvicorn.Server(uvicorn.Config(lambda: None)).handle_exit(signal.SIGTERM, None)
    with _connect(server) as client:
        client.sendall(b"GET /api/events HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        client.settimeout(1.5)  # the library looks twice a second
        assert not _ends(client)


def test_events_tell_what_changes_and_only_that(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(app, "EVERY_S", 0.02)
    monkeypatch.setattr("enpire.dashboard.run_board.LOOK_S", 0.0)
    with write_run(tmp_path / "run") as run, served(run.folder) as server:
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=SOON_S)
        connection.request("GET", "/api/events?run=run")
        events = _events(connection.getresponse())
        first = dict(next(events) for _ in range(8))
        assert first["head"]["live"] is True
        assert "policy-1, sealed" in first["success"]
        assert [one["number"] for one in first["stations"]] == [0, 1, 2, 3]
        assert first["counts"] == {"log": 4, "episodes": 100}
        run.ledger.add_decision(LogEntry(3, "aside", "station 1: a cable"))
        assert next(events) == ("counts", {"log": 5, "episodes": 100})
        connection.close()
    assert not list(run.folder.glob("*-wal")) + list(run.folder.glob("*-shm"))


def test_runs_are_named_before_any_of_them_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_run(tmp_path / "run").close()
    readable, read = threading.Event(), WatchedRun.refresh

    def wait_and_read(run: WatchedRun) -> bool:
        with run.lock:
            assert readable.wait(SOON_S)
            return read(run)

    monkeypatch.setattr(WatchedRun, "refresh", wait_and_read)
    with served(tmp_path) as server:
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=SOON_S)
        connection.request("GET", "/api/events")
        events = _events(connection.getresponse())
        first = dict(next(events) for _ in range(2))
        assert [(one["name"], one["state"]) for one in first["runs"]] == [("run", "not read yet")]
        readable.set()
        name, (line,) = next(events)
        assert (name, line["state"], line["episodes"]) == ("runs", "reached", 100)
        connection.close()


def _events(answer: http.client.HTTPResponse) -> Iterator[tuple[str, Any]]:
    name = ""
    while line := answer.readline().decode():
        line = line.strip("\r\n")
        if line.startswith("event: "):
            name = line.removeprefix("event: ")
        if line.startswith("data: "):
            yield name, json.loads(line.removeprefix("data: "))


def _get(server: Served, path: str) -> tuple[int, bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=SOON_S)
    connection.request("GET", path)
    answer = connection.getresponse()
    found = answer.status, answer.read()
    connection.close()
    return found


def _stream_status(server: Served) -> int:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=SOON_S)
    connection.request("GET", "/api/events")
    status = connection.getresponse().status
    connection.close()
    return status
