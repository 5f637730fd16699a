"""Anthropic's Messages: `POST /v1/messages`, whole or as a stream of events."""

from __future__ import annotations

import json
from typing import Any

from .script import Heard, Turn

PATHS = ("/v1/messages",)
OVERLOADED = 529


def heard(path: str, body: dict[str, Any]) -> Heard:
    """A request's conversation."""
    names: dict[str, str] = {}
    texts: list[str] = []
    results: list[tuple[str, str]] = []
    for message in body["messages"]:
        for block in _blocks(message["content"]):
            if block["type"] == "tool_use":
                names[block["id"]] = block["name"]
            elif block["type"] == "tool_result":
                results.append((names[block["tool_use_id"]], _text(block.get("content", ""))))
            elif block["type"] == "text" and message["role"] == "user":
                texts.append(block["text"])
    tools = tuple(tool["name"] for tool in body.get("tools", ()))
    streamed = body.get("stream") is True
    return Heard(body["model"], tools, tuple(texts), tuple(results), streamed)


def usage(number: int, size: int, written: int) -> dict[str, Any]:
    """Made up for the `number`-th answer: of a request of `size` bytes, and `written` characters.

    Cached tokens are in no other count; those written to the cache are told by lifetime as well.
    """
    short, long = size // 40 + 1, 2 * number
    return {
        "input_tokens": 5 + number,
        "cache_creation_input_tokens": short + long,
        "cache_read_input_tokens": size // 4,
        "cache_creation": {
            "ephemeral_5m_input_tokens": short,
            "ephemeral_1h_input_tokens": long,
        },
        "output_tokens": written // 4 + 1,
        "service_tier": "standard",
    }


def whole(turn: Turn, heard: Heard, number: int, used: dict[str, Any]) -> dict[str, Any]:
    """The answer as one body."""
    return _message(heard, number) | {
        "content": [_block(turn, heard, number, i) for i in range(_count(turn))],
        "stop_reason": _reason(turn),
        "usage": used,
    }


def events(turn: Turn, heard: Heard, number: int, used: dict[str, Any]) -> list[dict[str, Any]]:
    """The answer as events, each named by its type; output is counted at the end."""
    start = _message(heard, number) | {"content": [], "usage": used | {"output_tokens": 1}}
    said: list[dict[str, Any]] = [{"type": "message_start", "message": start}, {"type": "ping"}]
    for i in range(_count(turn)):
        block = _block(turn, heard, number, i)
        if block["type"] == "text":
            delta = {"type": "text_delta", "text": block["text"]}
            block = block | {"text": ""}
        else:
            arguments = turn.calls[i - bool(turn.text)].arguments
            delta = {"type": "input_json_delta", "partial_json": arguments}
            block = block | {"input": {}}
        said += [
            {"type": "content_block_start", "index": i, "content_block": block},
            {"type": "content_block_delta", "index": i, "delta": delta},
            {"type": "content_block_stop", "index": i},
        ]
    ended = {"stop_reason": _reason(turn), "stop_sequence": None}
    counted = {"output_tokens": used["output_tokens"]}
    said.append({"type": "message_delta", "delta": ended, "usage": counted})
    return [*said, {"type": "message_stop"}]


def error(status: int, why: str) -> dict[str, Any]:
    """A body that says what is wrong."""
    kinds = {404: "not_found_error", 429: "rate_limit_error", 529: "overloaded_error"}
    kind = kinds.get(status, "invalid_request_error")
    return {"type": "error", "error": {"type": kind, "message": why}}


def _message(heard: Heard, number: int) -> dict[str, Any]:
    return {
        "id": f"msg_{number}",
        "type": "message",
        "role": "assistant",
        "model": heard.model,
        "stop_reason": None,
        "stop_sequence": None,
    }


def _count(turn: Turn) -> int:
    return bool(turn.text) + len(turn.calls)


def _block(turn: Turn, heard: Heard, number: int, i: int) -> dict[str, Any]:
    if turn.text and i == 0:
        return {"type": "text", "text": turn.text}
    one = turn.calls[i - bool(turn.text)]
    try:
        given = json.loads(one.arguments)
    except ValueError:
        given = {}
    name = heard.tool(one.name)
    return {"type": "tool_use", "id": f"toolu_{number}_{i}", "name": name, "input": given}


def _reason(turn: Turn) -> str:
    return "refusal" if turn.refused else "tool_use" if turn.calls else "end_turn"


def _blocks(content: Any) -> list[dict[str, Any]]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def _text(content: Any) -> str:
    return "\n".join(block.get("text", "") for block in _blocks(content))
