"""JSON that may be anything: whatever is wrong with it is a ValueError."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any


def parsed(text: str | bytes) -> Any:
    """Return the value of a JSON text.

    Raises:
        ValueError: it is no JSON or no UTF-8, it is nested too deep to be read, or an object has a
            key twice: which of the two values is meant nobody knows.
    """
    return loads(text, _object)


def loads(
    text: str | bytes, object_pairs: Callable[[list[tuple[str, Any]]], Any] | None = None
) -> Any:
    """Return the value of a JSON text, as Python does: of two entries of one key the last counts.

    Args:
        text: of somebody who may have written anything.
        object_pairs: makes an object of its keys and values.

    Raises:
        ValueError: it is no JSON or no UTF-8, or it is nested too deep to be read.
    """
    try:
        return json.loads(text, object_pairs_hook=object_pairs)
    except RecursionError:
        raise ValueError("it is nested too deep") from None


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the key {twice!r:.80} is there twice")
    return made


def frozen(value: Any) -> Any:
    """Return a JSON value with tuples for its lists, however deep.

    Raises:
        ValueError: it is nested too deep.
    """
    try:
        return _frozen(value)
    except RecursionError:
        raise ValueError("it is nested too deep") from None


def _frozen(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _frozen(each) for key, each in value.items()}
    return tuple(map(_frozen, value)) if isinstance(value, list) else value
