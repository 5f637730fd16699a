"""JSON that may be anything: whatever is wrong with it is a ValueError."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any

LONGEST = 300  # digits of a whole number: a float has 308 at most


def parsed(text: str | bytes) -> Any:
    """Return the value of a JSON text.

    Raises:
        ValueError: see `loads`; or an object has a key twice: which of the two values is meant
            nobody knows.
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
        ValueError: it is no JSON or no UTF-8, it is nested too deep to be read, or it has a number
            beyond every float. Python would make infinity of 1e999, as of Infinity, which it takes.
    """
    try:
        return json.loads(
            text, object_pairs_hook=object_pairs, parse_float=_fraction, parse_int=_whole
        )
    except RecursionError:
        raise ValueError("it is nested too deep") from None


def _fraction(digits: str) -> float:
    made = float(digits)
    if math.isinf(made):
        raise ValueError(f"the number {digits:.20} is beyond what a computer counts by")
    return made


def _whole(digits: str) -> int:
    if len(digits) > LONGEST:
        raise ValueError(f"a number has {len(digits)} digits: {LONGEST} at most")
    return int(digits)


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
