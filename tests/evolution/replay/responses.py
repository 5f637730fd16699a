"""OpenAI's Responses: `POST /v1/responses`, a stream of events.

Of newer models Codex offers no tools but one, to which they write code that calls the others.
"""

from __future__ import annotations

import re
from typing import Any

from .script import Call, Heard, Turn

PATHS = ("/v1/responses",)
OVERLOADED = 503
CODE = "functions.exec"
DECLARED = re.compile(r"declare const tools: \{ (\w+)\(")
CALLED = re.compile(r"tools\.(\w+)\(")
UNLISTED = "mcp__enpire__"


def heard(path: str, body: dict[str, Any]) -> Heard:
    """A request's conversation."""
    names: dict[str, str] = {}
    texts: list[str] = []
    results: list[tuple[str, str]] = []
    offered = list(body.get("tools", ()))
    for item in body["input"]:
        if item["type"] == "additional_tools":
            offered += item["tools"]
        elif item["type"] == "function_call":
            names[item["call_id"]] = _full(item.get("namespace", ""), item["name"])
        elif item["type"] == "custom_tool_call":
            names[item["call_id"]] = CALLED.findall(item["input"])[0]
        elif item["type"] in ("function_call_output", "custom_tool_call_output"):
            results.append((names[item["call_id"]], _text(item["output"])))
        elif item.get("role") == "user":
            texts.append(_text(item["content"]))
    tools = [name for tool in offered for name in _names(tool)]
    return Heard(
        body["model"],
        tuple(tools),
        tuple(texts),
        tuple(results),
        body.get("stream") is True,
        UNLISTED if CODE in tools else "",
    )


def usage(number: int, size: int, written: int) -> dict[str, Any]:
    """Made up for the `number`-th answer: caches are in the input, reasoning in the output."""
    cached, kept, new, reasoning = size // 4, size // 80, size // 40 + number, 3 * number
    output = written // 4 + 1 + reasoning
    return {
        "input_tokens": cached + kept + new,
        "input_tokens_details": {"cached_tokens": cached, "cache_write_tokens": kept},
        "output_tokens": output,
        "output_tokens_details": {"reasoning_tokens": reasoning},
        "total_tokens": cached + kept + new + output,
    }


def whole(turn: Turn, heard: Heard, number: int, used: dict[str, Any]) -> dict[str, Any]:
    """The answer as one body."""
    return _response(heard, number) | {
        "status": "completed",
        "output": _items(turn, heard, number),
        "usage": used,
    }


def events(turn: Turn, heard: Heard, number: int, used: dict[str, Any]) -> list[dict[str, Any]]:
    """The answer as events, each named by its type; all is counted at the end."""
    said: list[dict[str, Any]] = [
        {"type": "response.created", "response": _response(heard, number)}
    ]
    for i, item in enumerate(_items(turn, heard, number)):
        said.append({"type": "response.output_item.added", "output_index": i, "item": item})
        if item["type"] == "message" and not turn.refused:
            delta = {"item_id": item["id"], "content_index": 0, "delta": turn.text}
            said.append({"type": "response.output_text.delta", "output_index": i} | delta)
        said.append({"type": "response.output_item.done", "output_index": i, "item": item})
    done = whole(turn, heard, number, used)
    return [*said, {"type": "response.completed", "response": done}]


def error(status: int, why: str) -> dict[str, Any]:
    """A body that says what is wrong."""
    kind = "rate_limit_exceeded" if status == 429 else "server_error"
    return {"error": {"type": kind, "code": kind, "message": why}}


def _response(heard: Heard, number: int) -> dict[str, Any]:
    return {"id": f"resp_{number}", "object": "response", "model": heard.model}


def _items(turn: Turn, heard: Heard, number: int) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = []
    if turn.text:
        part: dict[str, Any] = {"type": "output_text", "text": turn.text, "annotations": []}
        if turn.refused:
            part = {"type": "refusal", "refusal": turn.text}
        message = {"type": "message", "id": f"msg_{number}", "role": "assistant"}
        items.append(message | {"content": [part]})
    return items + [_call(one, heard, f"{number}_{i}") for i, one in enumerate(turn.calls)]


def _call(one: Call, heard: Heard, id: str) -> dict[str, Any]:
    said = {"id": f"item_{id}", "call_id": f"call_{id}", "status": "completed"}
    full = heard.tool(one.name)
    if heard.unlisted:
        space, _, name = CODE.rpartition(".")
        code = f"const got = await tools.{full}({one.arguments});\n"
        code += "text(got.content ? got.content.map((c) => c.text).join() : got);"
        return said | {"type": "custom_tool_call", "name": name, "namespace": space, "input": code}
    space, _, name = full.rpartition(".")
    said |= {"type": "function_call", "name": name, "arguments": one.arguments}
    return said | ({"namespace": space} if space else {})


def _names(tool: dict[str, Any], space: str = "") -> list[str]:
    """Of a tool: of all in a namespace; and of those that code may call."""
    if tool["type"] == "namespace":
        return [name for inner in tool["tools"] for name in _names(inner, tool["name"])]
    full = _full(space, tool.get("name", tool["type"]))
    return [full, *(DECLARED.findall(tool["description"]) if full == CODE else ())]


def _full(space: str, name: str) -> str:
    return f"{space}.{name}" if space else name


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(part.get("text", "") for part in content)
