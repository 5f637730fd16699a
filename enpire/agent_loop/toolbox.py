"""All tools of an agent: the campaign's and the workspace's, each held to what it asks for."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Protocol

from enpire.agent_loop.conversation import Tool, ToolCall, ToolResult

QUOTED = 200  # characters of what could not be read
KINDS: Mapping[str, type | tuple[type, ...]] = {
    "string": str,
    "integer": int,
    "number": (int, float),
    "boolean": bool,
    "array": list,
    "object": dict,
}


class Provider(Protocol):
    """A place where tools come from."""

    @property
    def tools(self) -> tuple[Tool, ...]: ...

    def call(self, id: str, name: str, given: Mapping[str, Any]) -> ToolResult:
        """Carry out the call with this id; what is wrong is a result too."""


class Toolbox:
    """Tools by name; what they return is cut to a length."""

    def __init__(self, campaign: Provider, workspace: Provider, most: int) -> None:
        """most: characters of a result. A name of both is the campaign's."""
        self._of = {tool.name: workspace for tool in workspace.tools}
        self._of |= {tool.name: campaign for tool in campaign.tools}
        own = tuple(tool for tool in workspace.tools if self._of[tool.name] is workspace)
        self.tools = (*campaign.tools, *own)
        self._most = most

    def call(self, call: ToolCall, cut: bool = False) -> ToolResult:
        """What came of it. cut: the answer that it is of was cut off."""
        wrong = self._fault(call, cut)
        if wrong:
            return ToolResult(call.id, wrong, wrong=True)
        result = self._of[call.name].call(call.id, call.name, call.given() or {})
        return replace(result, text=bounded(result.text, self._most))

    def _fault(self, call: ToolCall, cut: bool) -> str:
        """What is wrong with a call, and what to do; empty for nothing."""
        tool = next((each for each in self.tools if each.name == call.name), None)
        if tool is None:
            known = ", ".join(each.name for each in self.tools)
            return f"there is no tool {call.name[:60]!r}; there are: {known}"
        given = call.given()
        if given is None:
            why = "it was cut off, so write less at once" if cut else "write it again"
            return (
                f"the input of {call.name} is no JSON object: {why}. It must follow "
                f"{json.dumps(tool.schema)}; it began: {call.arguments[:QUOTED]}"
            )
        properties: Mapping[str, Any] = tool.schema.get("properties", {})
        missing = [name for name in tool.schema.get("required", ()) if name not in given]
        odd = [name for name in given if name not in properties]
        if missing or odd:
            said = [f"{name} is missing" for name in missing]
            said += [f"{name[:60]!r} is none of its arguments" for name in odd]
            known = ", ".join(properties) or "none"
            return f"{call.name}: {'; '.join(said)}. Arguments: {known}. Call it again."
        for name, value in given.items():
            kind = properties[name].get("type", "")
            if kind in KINDS and not isinstance(value, KINDS[kind]):
                return f"{call.name}: {name} must be of type {kind}. Call it again."
        return ""


def bounded(text: str, most: int) -> str:
    """Return a text's beginning and end, if it is longer than may be."""
    if len(text) <= most:
        return text
    half = most // 2
    return f"{text[:half]}\n[... {len(text) - 2 * half} characters left out ...]\n{text[-half:]}"
