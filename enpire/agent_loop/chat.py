"""OpenAI's chat completions, as Ollama, vLLM, llama.cpp and others serve open models.

github.com/ollama/ollama/blob/main/docs/openai.md, docs.vllm.ai (OpenAI-compatible server)
"""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Sequence
from http.client import HTTPException
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

WAIT_S = 900.0  # for an answer: open models may be slow
PASSING = (408, 409, 429)  # and 5xx
TOO_LONG = ("context", "too long", "maximum length")


class Chat:
    """A model behind such a server."""

    def __init__(self, url: str, model: str, output: int, pictures: bool = False) -> None:
        """output: tokens of an answer. pictures: whether it sees any."""
        self._url, self._pictures = f"{url}/v1/chat/completions", pictures
        self._usual = {"model": model, "max_tokens": output, "stream": False}

    def ask(self, tools: Sequence[Tool], turns: Sequence[Turn]) -> Said:
        """See `LanguageModel`."""
        asked = self._usual | {
            "messages": _messages(turns, self._pictures),
            "tools": [_tool(tool) for tool in tools],
        }
        return patient(lambda: read(self._answer(asked)))

    def _answer(self, asked: dict[str, Any]) -> Any:
        body, headers = json.dumps(asked).encode(), {"content-type": "application/json"}
        request = urllib.request.Request(self._url, body, headers)
        try:
            with urllib.request.urlopen(request, timeout=WAIT_S) as answer:
                return json.loads(answer.read())
        except urllib.error.HTTPError as error:
            said = error.read(2000).decode(errors="replace")
            why = f"{error.code}: {said}"
            if error.code in PASSING or error.code >= 500:
                after = error.headers.get("retry-after", "")
                raise Broken(why, float(after) if after.isdecimal() else 0.0) from None
            if error.code == 413 or (error.code == 400 and any(w in said for w in TOO_LONG)):
                raise TooLong(why) from None
            raise ModelError(f"the model cannot be asked ({why})") from None
        except (OSError, HTTPException, ValueError, RecursionError) as error:  # it breaks off
            raise Broken(f"{type(error).__name__}: {error}") from error


def read(answer: Any) -> Said:
    """An answer's one choice; raises Broken for what is none."""
    try:
        choice = answer["choices"][0]
        message, reason = choice["message"], choice.get("finish_reason")
        made = [(call.get("id"), call["function"]) for call in message.get("tool_calls") or ()]
        calls = tuple(_call(id or f"call_{i}", said) for i, (id, said) in enumerate(made))
        used = answer.get("usage") or {}
        tokens = int(used.get("total_tokens") or 0)
        text, refused = str(message.get("content") or ""), message.get("refusal")
    except (KeyError, IndexError, TypeError, AttributeError) as error:
        raise Broken("the answer is none of chat completions") from error
    stop = StopReason.LENGTH if reason == "length" else StopReason.DONE
    if refused or reason == "content_filter":
        stop = StopReason.REFUSED
    return Said(text, calls, stop, tokens=tokens)


def _call(id: str, said: dict[str, Any]) -> ToolCall:
    given = said.get("arguments", "")
    return ToolCall(id, said["name"], given if isinstance(given, str) else json.dumps(given))


def _tool(tool: Tool) -> dict[str, Any]:
    about = {"name": tool.name, "description": tool.description, "parameters": tool.schema}
    return {"type": "function", "function": about}


def _messages(turns: Sequence[Turn], pictures: bool) -> list[dict[str, Any]]:
    made: list[dict[str, Any]] = [{"role": "system", "content": SYSTEM}]
    for turn in turns:
        made += (
            [_assistant_message(turn)]
            if isinstance(turn, Said)
            else _result_messages(turn, pictures)
        )
    return made


def _assistant_message(turn: Said) -> dict[str, Any]:
    said: dict[str, Any] = {"role": "assistant", "content": turn.text}
    if turn.calls:  # what was no JSON would be refused when it comes back
        said["tool_calls"] = [
            {
                "id": call.id,
                "type": "function",
                "function": {"name": call.name, "arguments": json.dumps(call.given() or {})},
            }
            for call in turn.calls
        ]
    return said


def _result_messages(turn: Told, pictures: bool) -> list[dict[str, Any]]:
    """Results are messages of their own, and hold text only; pictures come after them."""
    made = [_result(result, pictures) for result in turn.results]
    content: list[dict[str, Any]] = [
        {"type": "image_url", "image_url": {"url": f"data:{shown.kind};base64,{shown.data}"}}
        for result in turn.results
        for shown in (result.pictures if pictures else ())
    ]
    if content:
        made.append({"role": "user", "content": content})
    return [*made, {"role": "user", "content": turn.text}] if turn.text else made


def _result(result: ToolResult, pictures: bool) -> dict[str, Any]:
    text = f"error: {result.text}" if result.wrong else result.text
    if result.pictures and not pictures:
        text += f"\n[{len(result.pictures)} pictures, which are not shown]"
    return {"role": "tool", "tool_call_id": result.call, "content": text}
