"""Which requests to a model's API may leave: those that reach the model, and nobody through it.

An API's own servers search the web, fetch what an address names and run code, if a request asks for
it: that would be a network. So a request may name tools that its sender carries out, and no other;
and no address to be fetched. What was looked at is what leaves: it is written anew, since of two
entries of one name another reader may take the other.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl

from enpire.json_text import loads

# Tools that whoever asks carries out itself; versions follow some of them.
OWN_TOOLS = ("custom", "function", "bash", "text_editor", "memory", "local_shell", "apply_patch")
GROUP = "namespace"  # tools under a name
PLAIN = ("name", "description", "input_schema", "cache_control", "functionDeclarations")
FETCHED = ("url", "image_url", "file_url", "fileUri", "file_uri", "server_url")
FOREIGN = ("mcp_servers", "container", "web_search_options", "code_interpreter")
# Of tools, objects or texts: data, fetched by nobody. An `input` that is a list is a conversation.
GIVEN = ("input", "arguments", "input_schema", "parameters")
TOKEN_LIMITS = ("max_tokens", "max_output_tokens", "max_completion_tokens")
PARAMETERS = ("beta", "alt")  # of a query
BYTES_PER_TOKEN = 4  # roughly
OUTPUT = 8192  # tokens that an answer may have where the request does not say


@dataclass(frozen=True, slots=True)
class Upstream:
    """An API. What is asked for inside as `/NAME/PATH` is asked of `url` + `/PATH`."""

    name: str
    url: str  # scheme, host and port
    # Method and path of each request, as `POST /v1/messages`; none if empty.
    allowed: tuple[str, ...] = ()
    header: str = "x-api-key"  # that the key goes in, after `prefix`; it is not sent without a key
    prefix: str = ""
    key: str = field(default="", repr=False)


class Refused(Exception):
    """A request that may not leave; status: what it is answered with (HTTP)."""

    def __init__(self, status: int, why: str) -> None:
        super().__init__(why)
        self.status = status


def route(upstreams: tuple[Upstream, ...], method: str, target: str) -> tuple[Upstream, str]:
    """The API that a request is for, and what to ask there; raises Refused for any other."""
    path, _, query = target.partition("?")
    for upstream in upstreams:
        start = f"/{upstream.name}/"
        if path.startswith(start):
            asked = path[len(start) - 1 :]
            if f"{method} {asked}" in upstream.allowed:
                return upstream, asked + _query(query)
    raise Refused(403, f"{method} {path[:200]} is not allowed")


def examined(body: bytes) -> tuple[bytes, int]:
    """A request's body as it may leave, and the tokens that it may use, about.

    These are its own length, and the answer that it asks for.

    Raises:
        Refused: it asks for something to be fetched or run elsewhere, or is no JSON.
    """
    if not body:
        return body, 0
    try:
        asked = loads(body)
        _require_own(asked)
        written = json.dumps(asked, allow_nan=False).encode()
    except (ValueError, RecursionError):
        raise Refused(400, "the body is no JSON") from None
    if not isinstance(asked, dict):
        raise Refused(400, "the body is no JSON object")
    config = asked.get("generationConfig")
    limits = [asked.get(name) for name in TOKEN_LIMITS]
    limits.append(config.get("maxOutputTokens") if isinstance(config, dict) else None)
    stated = [limit for limit in limits if isinstance(limit, int) and limit > 0]
    return written, len(written) // BYTES_PER_TOKEN + (max(stated) if stated else OUTPUT)


def _query(query: str) -> str:
    """What of a query goes on: a few parameters, with plain values."""
    kept = [f"{n}={v}" for n, v in parse_qsl(query) if n in PARAMETERS and v.isalnum()]
    return "?" + "&".join(kept) if kept else ""


def _require_own(said: Any) -> None:
    """Raise Refused for a tool or an address that somebody else is to see to."""
    if isinstance(said, list):
        for part in said:
            _require_own(part)
    if not isinstance(said, dict):
        return
    for name, value in said.items():
        if name in FOREIGN and value:
            raise Refused(403, f"{name} is not allowed: it is carried out elsewhere")
        address = value.get("url") if isinstance(value, dict) else value
        if name in FETCHED and isinstance(address, str) and not address.startswith("data:"):
            raise Refused(403, f"{name} is not allowed: an address would be fetched elsewhere")
        if name == "tools" and isinstance(value, list):
            for tool in value:
                _require_own_tool(tool)
        elif name not in GIVEN or isinstance(value, list):
            _require_own(value)


def _require_own_tool(tool: Any) -> None:
    if not isinstance(tool, dict):
        raise Refused(400, "a tool is no JSON object")
    if tool.get("type") == GROUP and isinstance(tool.get("tools"), list):
        for inner in tool["tools"]:
            _require_own_tool(inner)
        return
    if "type" not in tool:
        kind = next((name for name in tool if name not in PLAIN), "")
    elif isinstance(tool["type"], str) and tool["type"].startswith(OWN_TOOLS):
        kind = ""
    else:
        kind = str(tool["type"])
    if kind:
        raise Refused(403, f"tool {kind[:60]!r} is not allowed: it is carried out elsewhere")
