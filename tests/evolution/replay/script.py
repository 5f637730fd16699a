"""What a replayed model hears and says, whatever API it is asked by."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum


@dataclass(frozen=True, slots=True)
class Call:
    """Of a tool, by the last part of its name; arguments: JSON, or what is none."""

    name: str
    arguments: str = "{}"


def call(name: str, **given: object) -> Call:
    """Of a tool, with these arguments."""
    return Call(name, json.dumps(given))


@dataclass(frozen=True, slots=True)
class Turn:
    """What the model says: a text, then calls. refused: it stops there, and will not."""

    text: str = ""
    calls: tuple[Call, ...] = ()
    refused: bool = False


@dataclass(frozen=True, slots=True)
class Heard:
    """A request's conversation.

    tools: names, as they are offered. texts: of the user. results: of tools, in their order, each
    with the name that the tool was called by. unlisted: how names begin of tools that are there
    and are not offered one by one; empty where all are.
    """

    model: str
    tools: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()
    results: tuple[tuple[str, str], ...] = ()
    streamed: bool = False
    unlisted: str = ""

    def tool(self, name: str) -> str:
        """The name that is offered for this one, `mcp__enpire__train` for `train`; or empty."""
        ends = (f"_{name}", f".{name}")
        found = (full for full in self.tools if full == name or full.endswith(ends))
        return next(found, self.unlisted and self.unlisted + name)

    def of(self, name: str) -> list[str]:
        """What calls of a tool returned."""
        return [text for full, text in self.results if full == self.tool(name)]


class Fault(StrEnum):
    """What befalls a request instead of its turn, which is said when it is asked again.

    limited: 429 with retry-after. overloaded: 503 (529 at Anthropic's). dropped: the connection
    ends in the middle of an answer. garbled: an event of a stream is no JSON, and it ends there; or
    an answer in one piece is none.
    """

    LIMITED = "limited"
    OVERLOADED = "overloaded"
    DROPPED = "dropped"
    GARBLED = "garbled"


Script = Callable[[Heard], Turn]
"""A function of the conversation alone, so that a program may ask again, or be started anew."""
