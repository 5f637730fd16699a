"""The campaign's tools: a client of an MCP server on standard input and output.

The Model Context Protocol, 2025-06-18: JSON-RPC, a message a line. Only what tools need of it.
"""

from __future__ import annotations

import itertools
import json
import queue
import subprocess
import threading
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Self

from enpire.agent_loop.conversation import ImageContent, Tool, ToolResult

VERSION = "2025-06-18"
MOST = 1_000_000  # characters of a message; the campaign takes no more
WAIT_S = 900.0  # for an answer


class Gone(Exception):
    """The server has ended, or does not answer: so has the campaign."""


class Remote:
    """A server's tools, until the end of the `with` block."""

    def __init__(self, words: Sequence[str], wait_s: float = WAIT_S) -> None:
        """Start it; raises Gone if it does not answer."""
        self._wait_s = wait_s
        self._numbers = itertools.count(1)
        self._said: queue.Queue[dict[str, Any] | None] = queue.Queue()
        self._server = subprocess.Popen(
            words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8"
        )
        threading.Thread(target=self._listen, daemon=True).start()
        about = {"name": "agent_loop", "version": "1"}
        self._ask(
            "initialize", {"protocolVersion": VERSION, "capabilities": {}, "clientInfo": about}
        )
        self._send({"method": "notifications/initialized"})
        self.tools = tuple(self._list())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._server.kill()
        self._server.wait()

    def call(self, id: str, name: str, given: Mapping[str, Any]) -> ToolResult:
        """See `Provider`; raises Gone."""
        params = {"name": name, "arguments": given}
        if len(json.dumps(params)) > MOST - 1000:
            return ToolResult(id, f"{name}: its input has {MOST} characters at most", wrong=True)
        answer = self._ask("tools/call", params)
        if "error" in answer:
            return ToolResult(id, str(answer["error"].get("message", "it failed")), wrong=True)
        found = answer["result"]
        content = found.get("content", [])
        text = "\n".join(part["text"] for part in content if part.get("type") == "text")
        shown = [part for part in content if part.get("type") == "image"]
        pictures = tuple(ImageContent(part["mimeType"], part["data"]) for part in shown)
        return ToolResult(id, text, bool(found.get("isError")), pictures)

    def _list(self) -> Iterator[Tool]:
        params: dict[str, Any] = {}
        while True:
            found = self._ask("tools/list", params)["result"]
            for tool in found["tools"]:
                yield Tool(tool["name"], tool.get("description", ""), tool["inputSchema"])
            if not found.get("nextCursor"):
                return
            params = {"cursor": found["nextCursor"]}

    def _ask(self, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        number = next(self._numbers)
        self._send({"id": number, "method": method, "params": params})
        while True:
            try:
                said = self._said.get(timeout=self._wait_s)
            except queue.Empty:
                raise Gone(f"the campaign does not answer within {self._wait_s:g} s") from None
            if said is None:
                raise Gone("the campaign has ended")
            if said.get("id") == number and "method" not in said:
                return said

    def _send(self, message: Mapping[str, Any]) -> None:
        pipe = self._server.stdin
        try:
            if pipe is not None:
                pipe.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
                pipe.flush()
        except OSError:
            raise Gone("the campaign has ended") from None

    def _listen(self) -> None:
        for line in self._server.stdout or ():
            try:
                said = json.loads(line)
            except (ValueError, RecursionError):
                continue
            if isinstance(said, dict):
                self._said.put(said)
        self._said.put(None)
