"""A model's API on loopback, for tests: it keeps what it is sent and answers as it is told."""

from __future__ import annotations

import contextlib
import json
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

USAGE = {"input_tokens": 30, "output_tokens": 12, "cache_read_input_tokens": 100}


@dataclass
class Api:
    """asked: path, headers and body of each request."""

    url: str = ""
    asked: list[tuple[str, dict[str, str], bytes]] = field(default_factory=list)

    @property
    def bodies(self) -> list[Any]:
        return [json.loads(body) for _, _, body in self.asked if body]


def events(*said: dict[str, Any]) -> bytes:
    return b"".join(b"event: x\ndata: %s\n\n" % json.dumps(one).encode() for one in said)


STREAM = (
    {"type": "message_start", "message": {"model": "m", "usage": USAGE | {"output_tokens": 1}}},
    {"type": "content_block_delta", "delta": {"text": "hello"}},
    {"type": "message_delta", "usage": {"output_tokens": 12}},
    {"type": "message_stop"},
)


@contextlib.contextmanager
def api() -> Iterator[Api]:
    """What the body's `say` names: `stream`, `break`, `slow`, `stall`, `echo` and others."""
    made = Api()
    over = threading.Event()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, format: str, *args: Any) -> None:
            pass

        def do_GET(self) -> None:
            self.do_POST()

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length", 0)))
            headers = {name.lower(): value for name, value in self.headers.items()}
            made.asked.append((self.path, headers, body))
            say = json.loads(body).get("say") if body else ""
            if say in ("stream", "break", "slow", "stall"):
                self.stream(say)
            elif say == "redirect":
                self.send_response(302)
                self.send_header("location", made.url + "/elsewhere")
                self.send_header("content-length", "0")
                self.end_headers()
            else:
                said = {"model": "m", "usage": USAGE, "content": "hello"}
                if say == "echo":
                    said |= {"you_sent": headers}
                self.whole(529 if say == "busy" else 200, said if say != "busy" else {})

        def whole(self, status: int, said: dict[str, Any]) -> None:
            data = json.dumps(said).encode()
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def stream(self, say: str) -> None:
            self.send_response(200)
            self.send_header("content-type", "text/event-stream")
            self.send_header("transfer-encoding", "chunked")
            self.end_headers()
            for one in STREAM if say != "break" else STREAM[:2]:
                data = events(one)
                self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
                self.wfile.flush()
                if say == "slow":
                    time.sleep(0.1)
                if say == "stall":  # after the first
                    over.wait()
            if say == "break":
                self.close_connection = True
                return
            self.wfile.write(b"0\r\n\r\n")

    class Server(ThreadingHTTPServer):
        def handle_error(self, request: Any, client_address: Any) -> None:
            """Whoever hung up has had enough."""

    server = Server(("127.0.0.1", 0), Handler)
    made.url = f"http://127.0.0.1:{server.server_port}"
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    yield made
    over.set()
    server.shutdown()
    server.server_close()
