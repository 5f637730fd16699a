"""Two tools in place of a campaign's, and a model's answers from a list."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from enpire.agent_loop.conversation import ImageContent, Said, Tool, ToolCall, ToolResult, Turn
from enpire.agent_loop.toolbox import Toolbox
from enpire.agent_loop.workspace import Workspace

TEXT = {"type": "string"}
TRAIN = Tool("train", "Begin.", {"properties": {"why": TEXT}, "required": ["why"]})
STATUS = Tool("status", "What is left.", {"type": "object", "properties": {}})
PNG = ImageContent("image/png", "aGVsbG8=")


class Few:
    """A campaign's tools. called: by name, with what they were given."""

    def __init__(self, status: str = "all is left") -> None:
        self.tools = (TRAIN, STATUS)
        self.called: list[tuple[str, Mapping[str, Any]]] = []
        self.status = status

    def call(self, id: str, name: str, given: Mapping[str, Any]) -> ToolResult:
        self.called.append((name, given))
        pictures = (PNG,) if name == "status" else ()
        return ToolResult(id, self.status if name == "status" else "it began", pictures=pictures)


class Listed:
    """A model that says these; an exception among them is raised. asked: with what turns."""

    def __init__(self, *answers: Said | Exception) -> None:
        self.answers = list(answers)
        self.asked: list[list[Turn]] = []

    def ask(self, tools: Sequence[Tool], turns: Sequence[Turn]) -> Said:
        self.asked.append(list(turns))
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


def box(few: Few, root: Path, most: int = 10_000) -> Toolbox:
    """With a workspace."""
    return Toolbox(few, Workspace(root), most)


def calling(name: str, **given: object) -> ToolCall:
    """With an id of no matter."""
    return ToolCall("c", name, json.dumps(given))
