"""Anthropic's Messages API by its own package, streamed, with the conversation cached.

Marks for the cache (`cache_control`) are on the last tool, on the system's text and on the last two
turns that the model is told: what is before a mark is read from the cache at the next request.
platform.claude.com/docs/en/build-with-claude/prompt-caching
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

from enpire.agent_loop.conversation import (
    SYSTEM,
    ModelError,
    Said,
    StopReason,
    Told,
    Tool,
    ToolCall,
    TooLong,
    ToolResult,
    Turn,
)
from enpire.agent_loop.patience import Broken, patient

RETRIES = 4  # of the package's own, which wait as long as the API says; then `patient` goes on
PASSING = (408, 409, 429)  # and 5xx
MARK = {"cache_control": {"type": "ephemeral"}}
MARKED = 2  # turns
STOPS = {
    "refusal": StopReason.REFUSED,
    "max_tokens": StopReason.LENGTH,
    "model_context_window_exceeded": StopReason.LENGTH,
}
COUNTED = (
    "input_tokens",
    "output_tokens",
    "cache_creation_input_tokens",
    "cache_read_input_tokens",
)


class Messages:
    """A model of Anthropic's."""

    def __init__(self, url: str, model: str, output: int, thinking: str) -> None:
        """output: tokens of an answer. thinking: none, adaptive, or how many tokens.

        Raises:
            ModelError: `anthropic` is not installed, or that is no way to think.
        """
        try:
            import anthropic
        except ImportError:
            raise ModelError("it needs anthropic: pip install 'enpire[evolution]'") from None
        self._client = anthropic.Anthropic(base_url=url, api_key="outside", max_retries=RETRIES)
        self._usual = {"model": model, "max_tokens": output} | _thinking(thinking)

    def ask(self, tools: Sequence[Tool], turns: Sequence[Turn]) -> Said:
        """See `LanguageModel`."""
        asked = self._usual | {
            "system": [{"type": "text", "text": SYSTEM, **MARK}],
            "tools": _tools(tools),
            "messages": _messages(turns),
            "stream": True,
        }
        return patient(lambda: self._streamed(asked))

    def _streamed(self, asked: dict[str, Any]) -> Said:
        import anthropic
        import httpx2  # what the package speaks HTTP by: its errors come through from a stream

        try:
            with self._client.messages.create(**asked) as stream:
                return gathered(event.to_dict() for event in stream)
        except anthropic.APIStatusError as error:
            status, said = error.status_code, error.message
            if status < 400 or status in PASSING or status >= 500:  # the first: in a stream
                raise Broken(f"{status}: {said}") from error
            if status == 413 or (status == 400 and "too long" in said):
                raise TooLong(said) from error
            raise ModelError(f"the model cannot be asked ({status}): {said}") from error
        except anthropic.APIConnectionError as error:
            raise Broken(str(error)) from error
        except (httpx2.HTTPError, ValueError) as error:  # it breaks off, or is no JSON
            raise Broken(f"{type(error).__name__}: {error}") from error


def gathered(events: Iterable[dict[str, Any]]) -> Said:
    """An answer out of its events; raises Broken if the last of them is missing.

    By hand, since what a tool is given need not be JSON, and then the model has to be told so.
    """
    blocks: list[dict[str, Any]] = []
    parts: list[str] = []  # of a tool's input, by block
    stop, used, ended = "", dict.fromkeys(COUNTED, 0), False
    for event in events:
        match event["type"]:
            case "message_start":
                used |= _counted(event["message"].get("usage"))
            case "content_block_start":
                blocks.append(dict(event["content_block"]))
                parts.append("")
            case "content_block_delta":
                parts[-1] += _grown(blocks[-1], event["delta"])
            case "message_delta":
                stop = event["delta"].get("stop_reason") or ""
                used |= _counted(event.get("usage"))
            case "message_stop":
                ended = True
    if not ended:
        raise Broken("the answer broke off")
    calls = []
    for block, part in zip(blocks, parts, strict=True):
        if block["type"] == "tool_use":
            call = ToolCall(block["id"], block["name"], part or json.dumps(block["input"]))
            block["input"] = call.given() or {}
            calls.append(call)
    return Said(
        "".join(block["text"] for block in blocks if block["type"] == "text"),
        tuple(calls),
        STOPS.get(stop, StopReason.DONE),
        tuple(block for block in blocks if block.get("text") != ""),  # empty ones are refused
        sum(used.values()),
    )


def _grown(block: dict[str, Any], delta: dict[str, Any]) -> str:
    """Adds to a block; returns what is part of a tool's input instead."""
    match delta["type"]:
        case "input_json_delta":
            return str(delta["partial_json"])
        case "text_delta":
            block["text"] += delta["text"]
        case "thinking_delta":
            block["thinking"] += delta["thinking"]
        case "signature_delta":
            block["signature"] = delta["signature"]
    return ""


def _counted(usage: dict[str, Any] | None) -> dict[str, int]:
    return {name: usage[name] for name in COUNTED if usage and isinstance(usage.get(name), int)}


def _thinking(how: str) -> dict[str, Any]:
    if how == "none":
        return {}
    if how == "adaptive":
        return {"thinking": {"type": "adaptive"}}
    if not how.isdecimal():
        raise ModelError(f"thinking is none, adaptive or a number of tokens, not {how!r}")
    return {"thinking": {"type": "enabled", "budget_tokens": int(how)}}


def _tools(tools: Sequence[Tool]) -> list[dict[str, Any]]:
    made: list[dict[str, Any]] = [
        {"name": tool.name, "description": tool.description, "input_schema": tool.schema}
        for tool in tools
    ]
    if made:
        made[-1] |= MARK
    return made


def _messages(turns: Sequence[Turn]) -> list[dict[str, Any]]:
    made: list[dict[str, Any]] = []
    for turn in turns:
        if isinstance(turn, Said):
            made.append({"role": "assistant", "content": list(turn.raw)})
        else:
            made.append({"role": "user", "content": _blocks_of(turn)})
    for message in [each for each in made if each["role"] == "user"][-MARKED:]:
        message["content"][-1] |= MARK
    return made


def _blocks_of(turn: Told) -> list[dict[str, Any]]:
    blocks = [_result(result) for result in turn.results]
    return [*blocks, {"type": "text", "text": turn.text}] if turn.text else blocks


def _result(result: ToolResult) -> dict[str, Any]:
    content: list[dict[str, Any]] = [{"type": "text", "text": result.text or "(nothing)"}]
    for picture in result.pictures:
        source = {"type": "base64", "media_type": picture.kind, "data": picture.data}
        content.append({"type": "image", "source": source})
    return {
        "type": "tool_result",
        "tool_use_id": result.call,
        "content": content,
        "is_error": result.wrong,
    }
