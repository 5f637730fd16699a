"""What a model's answer says it has used: the counts by class, as the API words them.

Classes are kept raw, for prices change and differ by class: `cache_read_input_tokens`,
`prompt_tokens_details.cached_tokens`. What is inside of another count is the API's to know.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from enpire.json_text import parsed

TOTALS = ("total_tokens", "totalTokenCount")
PARTS = (
    *("input_tokens", "output_tokens", "cache_creation_input_tokens", "cache_read_input_tokens"),
    *("prompt_tokens", "completion_tokens", "promptTokenCount", "candidatesTokenCount"),
)


@dataclass(frozen=True, slots=True)
class Usage:
    """The use of one request."""

    upstream: str
    path: str
    model: str
    classes: Mapping[str, int]  # counts by name, empty where the answer did not say
    status: int  # of the answer (HTTP), 0 for none
    complete: bool  # it came to its end

    @property
    def tokens(self) -> int | None:
        """All of them, each once; None where the answer did not say."""
        for name in TOTALS:
            if name in self.classes:
                return self.classes[name]
        parts = [self.classes[name] for name in PARTS if name in self.classes]
        return sum(parts) if parts else None


class Meter:
    """Reads usage out of an answer as it passes."""

    def __init__(self) -> None:
        self.classes: dict[str, int] = {}
        self.model = ""

    def line(self, line: bytes) -> None:
        """A line of a stream of events; a later count of a class replaces an earlier."""
        if line.startswith(b"data:"):
            self.body(line[5:])

    def body(self, body: bytes) -> None:
        """A body, or an event's data; what is no JSON says nothing."""
        try:
            said = parsed(body)
        except ValueError:
            return
        for part in (said, _of(said, "message"), _of(said, "response")):
            model = _of(part, "model") or _of(part, "modelVersion")
            if isinstance(model, str):
                self.model = model
            for name in ("usage", "usageMetadata"):
                self.classes |= flat(_of(part, name))


class Allowance:
    """Tokens that an agent may use: reserved before a request, settled after it."""

    def __init__(self, tokens: int, spent: int = 0) -> None:
        """tokens: in all, of which so many are spent."""
        self.tokens, self.spent, self.reserved = tokens, spent, 0
        self._lock = threading.Lock()

    def reserve(self, tokens: int) -> bool:
        """Whether so many are left; they are set aside then."""
        with self._lock:
            if self.spent + self.reserved + tokens > self.tokens:
                return False
            self.reserved += tokens
            return True

    def settle(self, reserved: int, used: int | None) -> None:
        """What a request has used in the end; None, nobody knows: all that was reserved."""
        with self._lock:
            self.reserved -= reserved
            self.spent += reserved if used is None else used


def flat(usage: Any, prefix: str = "") -> dict[str, int]:
    """Counts by name; those of a part by `part.name`."""
    found: dict[str, int] = {}
    if isinstance(usage, dict):
        for name, value in usage.items():
            if isinstance(value, dict):
                found |= flat(value, f"{prefix}{name}.")
            elif isinstance(value, int) and not isinstance(value, bool) and value >= 0:
                found[f"{prefix}{name}"] = value
    return found


def _of(said: Any, name: str) -> Any:
    return said.get(name) if isinstance(said, dict) else None
