"""The server: it keeps what it is asked, answers by the script, and counts what it has told."""

from __future__ import annotations

import json
import sys
import threading
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

from . import chat, gemini, messages, responses
from .script import Fault, Heard, Script, Turn

RETRY_AFTER_S = 1
DIALECTS = (chat, gemini, messages, responses)


@dataclass(frozen=True, slots=True)
class Asked:
    """A request. status: of its answer (HTTP). told: tokens by class, empty for none."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes
    status: int
    told: dict[str, int]


class Replay:
    """From a `with` block's start to its end, at `url`.

    faults: of the first, second, ... turn of the script; each turn has one at most, and is asked
    for again. A request that offers none of the tools in `wanted` is a program's own small talk:
    it is answered, and is no turn.
    """

    def __init__(
        self,
        script: Script,
        faults: Sequence[Fault | None] = (),
        wanted: Sequence[str] = ("train",),
    ) -> None:
        self.script, self.wanted = script, wanted
        self.asked: list[Asked] = []
        self.told: Counter[tuple[str, str]] = Counter()  # tokens, by model and class
        self._faults = list(faults)
        self._answers = 0
        self._lock = threading.Lock()
        self._server = _Server(("127.0.0.1", 0), self)
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    @property
    def classes(self) -> Counter[str]:
        """Tokens told of, by class, of all models."""
        summed: Counter[str] = Counter()
        for (_, name), count in self.told.items():
            summed[name] += count
        return summed

    def turn(self, heard: Heard) -> tuple[int, Turn, Fault | None]:
        """The answer's number, what to say, and what befalls it."""
        with self._lock:
            self._answers += 1
            scripted = all(heard.tool(name) for name in self.wanted)
            fault = self._faults.pop(0) if scripted and self._faults else None
            return self._answers, self.script(heard) if scripted else Turn("Yes."), fault

    def note(self, asked: Asked, model: str) -> None:
        """A request has been answered, as far as it has."""
        with self._lock:
            self.asked.append(asked)
            for name, count in asked.told.items():
                self.told[model, name] += count


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, at: tuple[str, int], replay: Replay) -> None:
        self.replay = replay
        super().__init__(at, _Handler)

    def handle_error(self, request: Any, client_address: Any) -> None:
        if not isinstance(sys.exception(), OSError):  # that is a program that has hung up
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def log_message(self, format: str, *args: Any) -> None:
        pass

    def do_GET(self) -> None:
        self._other(404)

    def do_HEAD(self) -> None:
        self._other(200)

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        path = self.path.partition("?")[0]
        dialect = next((each for each in DIALECTS if path.startswith(each.PATHS)), None)
        if dialect is None or not body:
            self._other(404, body)
            return
        if path.endswith("count_tokens"):
            self._whole(200, {"input_tokens": len(body) // 4})
            self._note(body, 200)
            return
        heard = dialect.heard(path, json.loads(body))
        number, turn, fault = self.server.replay.turn(heard)
        written = len(turn.text) + sum(len(one.arguments) for one in turn.calls)
        used = dialect.usage(number, len(body), written)
        if fault in (Fault.LIMITED, Fault.OVERLOADED):
            status = 429 if fault is Fault.LIMITED else dialect.OVERLOADED
            self._note(body, status)
            self._whole(status, dialect.error(status, "later"))
        elif heard.streamed:
            told = self._stream(dialect.events(turn, heard, number, used), fault)
            self._note(body, 200, told, heard.model)
        else:
            self._note(body, 200, {} if fault else flat(used), heard.model)
            self._whole(200, dialect.whole(turn, heard, number, used), fault)

    def _other(self, status: int, body: bytes = b"") -> None:
        self._note(body, status)
        self._whole(status, messages.error(status, "not here"))

    def _whole(self, status: int, said: dict[str, Any], fault: Fault | None = None) -> None:
        data = b"" if self.command == "HEAD" else json.dumps(said).encode()
        if fault is Fault.GARBLED:
            data = data[: len(data) // 2]
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        if status == 429:
            self.send_header("retry-after", str(RETRY_AFTER_S))
        self.end_headers()
        if fault is Fault.DROPPED:
            self.close_connection = True
            data = data[: len(data) // 2]
        self.wfile.write(data)

    def _stream(self, said: list[dict[str, Any]], fault: Fault | None) -> dict[str, int]:
        """Returns the tokens that it has told of."""
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        told: dict[str, int] = {}
        for i, event in enumerate(said):
            if fault is not None and i == len(said) // 2:
                if fault is Fault.GARBLED:
                    self._event(event, b'{"type": "content_bl')
                self.close_connection = True
                return told
            self._event(event, json.dumps(event).encode())
            for part in (event, event.get("message"), event.get("response")):
                if isinstance(part, dict):
                    told |= flat(part.get("usage")) | flat(part.get("usageMetadata"))
        self._chunk(b"")
        return told

    def _event(self, event: dict[str, Any], data: bytes) -> None:
        name = f"event: {event['type']}\n" if "type" in event else ""
        self._chunk(b"%sdata: %s\n\n" % (name.encode(), data))

    def _chunk(self, data: bytes) -> None:
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
        self.wfile.flush()

    def _note(
        self, body: bytes, status: int, told: dict[str, int] | None = None, model: str = ""
    ) -> None:
        headers = {name.lower(): value for name, value in self.headers.items()}
        asked = Asked(self.command, self.path, headers, body, status, told or {})
        self.server.replay.note(asked, model)


def flat(counted: Any, prefix: str = "") -> dict[str, int]:
    """Counts by class; those of a part by `part.class`."""
    found: dict[str, int] = {}
    for name, value in (counted or {}).items():
        if isinstance(value, dict):
            found |= flat(value, f"{prefix}{name}.")
        elif isinstance(value, int):
            found[prefix + name] = value
    return found
