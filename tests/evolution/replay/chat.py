"""OpenAI's chat completions, `POST /v1/chat/completions`, whole: what open models are served by."""

from __future__ import annotations

from typing import Any

from .script import Heard, Turn

PATHS = ("/v1/chat/completions",)
OVERLOADED = 503


def heard(path: str, body: dict[str, Any]) -> Heard:
    """A request's conversation."""
    names: dict[str, str] = {}
    texts: list[str] = []
    results: list[tuple[str, str]] = []
    for message in body["messages"]:
        for call in message.get("tool_calls", ()):
            names[call["id"]] = call["function"]["name"]
        if message["role"] == "tool":
            results.append((names[message["tool_call_id"]], message["content"]))
        elif message["role"] == "user" and isinstance(message["content"], str):
            texts.append(message["content"])
    tools = tuple(tool["function"]["name"] for tool in body.get("tools", ()))
    return Heard(body["model"], tools, tuple(texts), tuple(results))


def usage(number: int, size: int, written: int) -> dict[str, Any]:
    """Made up for the `number`-th answer; what is cached is in the prompt."""
    cached, output = size // 4, written // 4 + 1
    prompt = cached + size // 40 + number
    return {
        "prompt_tokens": prompt,
        "completion_tokens": output,
        "total_tokens": prompt + output,
        "prompt_tokens_details": {"cached_tokens": cached},
    }


def whole(turn: Turn, heard: Heard, number: int, used: dict[str, Any]) -> dict[str, Any]:
    """The answer as one body."""
    message: dict[str, Any] = {"role": "assistant", "content": turn.text or None}
    calls = [
        {
            "id": f"call_{number}_{i}",
            "type": "function",
            "function": {"name": heard.tool(one.name), "arguments": one.arguments},
        }
        for i, one in enumerate(turn.calls)
    ]
    reason = "content_filter" if turn.refused else "tool_calls" if calls else "stop"
    if calls:
        message["tool_calls"] = calls
    return {
        "id": f"chatcmpl-{number}",
        "object": "chat.completion",
        "model": heard.model,
        "choices": [{"index": 0, "message": message, "finish_reason": reason}],
        "usage": used,
    }


def events(turn: Turn, heard: Heard, number: int, used: dict[str, Any]) -> list[dict[str, Any]]:
    """Nobody asks for them here: `heard` says that nothing is streamed."""
    raise NotImplementedError


def error(status: int, why: str) -> dict[str, Any]:
    """A body that says what is wrong."""
    return {"error": {"message": why, "type": "error", "code": status}}
