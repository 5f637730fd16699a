"""Gemini's `POST /v1beta/models/NAME:generateContent`, whole, and `:streamGenerateContent`."""

from __future__ import annotations

import json
from typing import Any

from .script import Call, Heard, Turn

PATHS = ("/v1beta/models/", "/v1/models/")
OVERLOADED = 503


def heard(path: str, body: dict[str, Any]) -> Heard:
    """A request's conversation; the model is in its path."""
    texts: list[str] = []
    results: list[tuple[str, str]] = []
    for content in body["contents"]:
        for part in content["parts"]:
            if "functionResponse" in part:
                given = part["functionResponse"]
                results.append((given["name"], str(given["response"].get("output", ""))))
            elif content.get("role") == "user" and "text" in part:
                texts.append(part["text"])
    offered = [each for tool in body.get("tools", ()) for each in tool["functionDeclarations"]]
    model, _, asked = path.rpartition("/")[2].partition(":")
    tools = tuple(each["name"] for each in offered)
    return Heard(model, tools, tuple(texts), tuple(results), asked.startswith("stream"))


def usage(number: int, size: int, written: int) -> dict[str, Any]:
    """Made up for the `number`-th answer; cached tokens are in the prompt, thoughts in no other."""
    cached, new, thoughts = size // 4, size // 40 + number, 3 * number
    output = written // 4 + 1
    return {
        "promptTokenCount": cached + new,
        "cachedContentTokenCount": cached,
        "candidatesTokenCount": output,
        "thoughtsTokenCount": thoughts,
        "totalTokenCount": cached + new + output + thoughts,
    }


def whole(turn: Turn, heard: Heard, number: int, used: dict[str, Any]) -> dict[str, Any]:
    """The answer as one body."""
    parts: list[dict[str, Any]] = [{"text": turn.text}] if turn.text else []
    reason = "SAFETY" if turn.refused else "STOP"
    try:
        parts += [{"functionCall": _call(one, heard)} for one in turn.calls]
    except ValueError:
        reason = "MALFORMED_FUNCTION_CALL"
    content = {"role": "model", "parts": [] if turn.refused else parts}
    return {
        "candidates": [{"index": 0, "content": content, "finishReason": reason}],
        "usageMetadata": used,
        "modelVersion": heard.model,
        "responseId": f"r{number}",
    }


def events(turn: Turn, heard: Heard, number: int, used: dict[str, Any]) -> list[dict[str, Any]]:
    """The answer as events without names; the prompt is counted in the first, all in the last."""
    first = {name: used[name] for name in ("promptTokenCount", "cachedContentTokenCount")}
    first["totalTokenCount"] = used["promptTokenCount"]
    begun = {"candidates": [{"index": 0, "content": {"role": "model", "parts": [{"text": ""}]}}]}
    about = {"modelVersion": heard.model, "responseId": f"r{number}"}
    return [begun | about | {"usageMetadata": first}, whole(turn, heard, number, used)]


def error(status: int, why: str) -> dict[str, Any]:
    """A body that says what is wrong."""
    kind = "RESOURCE_EXHAUSTED" if status == 429 else "UNAVAILABLE"
    return {"error": {"code": status, "message": why, "status": kind}}


def _call(one: Call, heard: Heard) -> dict[str, Any]:
    return {"name": heard.tool(one.name), "args": json.loads(one.arguments)}
