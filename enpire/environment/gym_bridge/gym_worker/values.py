"""Values of an environment's observations, held against the spaces that it declares."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium.spaces import Box, Dict, Discrete, MultiBinary, MultiDiscrete, Space, Tuple

from .words import KEYS, short

SIDE = 16  # entries, from which two sides of an array may be a picture's
NUMBERS = "biufO"  # of NumPy's types; objects are looked at one by one


def without_images(space: Space[Any]) -> Space[Any] | None:
    """A space without the images that its dictionaries hold; None if nothing is left."""
    if isinstance(space, Dict):
        kept = {key: without_images(inner) for key, inner in space.spaces.items()}
        left = {key: inner for key, inner in kept.items() if inner is not None}
        return Dict(left) if left else None
    image = isinstance(space, Box) and space.dtype == np.uint8 and len(space.shape) > 1
    return None if image else space


def unrolled(space: Space[Any], name: str = "it") -> list[str]:
    """The parts that may be pictures, though not of bytes: each number of them is an entry."""
    if isinstance(space, Dict):
        return [said for key, part in space.spaces.items() for said in unrolled(part, short(key))]
    picture = isinstance(space, Box) and sorted(space.shape)[-2:-1] >= [SIDE]
    return [f"{name} of shape {space.shape}"] if picture else []


def undeclared(space: Space[Any], value: Any) -> list[str]:
    """Return the keys that a value's dictionaries have and its space does not declare."""
    if not isinstance(space, Dict) or not isinstance(value, dict):
        return []
    found = [short(key) for key in value if key not in space.spaces]
    for key, inner in space.spaces.items():
        found += [f"{short(key)}.{each}" for each in undeclared(inner, value.get(key))]
    return found[:KEYS]


def whole(space: Space[Any], value: Any) -> bool:
    """Whether an array of whole numbers or truths stands where fractions are declared."""
    if isinstance(space, Dict):
        return any(whole(inner, value.get(key)) for key, inner in space.spaces.items())
    kind = value.dtype.kind if isinstance(value, (np.ndarray, np.generic)) else ""
    return isinstance(space, Box) and space.dtype.kind == "f" and kind in ("i", "u", "b")


def unlike(space: Space[Any], value: Any) -> str:
    """How a value differs from what its space declares, in shape or type; empty if it does not.

    Gymnasium would make a number of it all the same: of text, of a fraction where whole numbers
    are declared, of a choice that is not there.
    """
    if isinstance(space, Dict):
        if not isinstance(value, dict):
            return f" is {short(value)}, and {short(space)} is declared"
        for key, inner in space.spaces.items():
            if key not in value:
                return f" lacks {key!r}"
            wrong = unlike(inner, value[key])
            if wrong:
                return f", {key!r},{wrong}"
    elif isinstance(space, Box):
        try:
            shape = np.shape(value)
        except ValueError:
            return f" is ragged, and shape {space.shape} is declared"
        if shape != space.shape:
            return f" has shape {shape}, and {space.shape} is declared"
        kind = np.asarray(value).dtype
        if kind.kind not in NUMBERS or masked(value):
            return f" is {short(value)}, and numbers are declared"
        if space.dtype.kind in "iub" and not _whole(space, value):
            return f" is {short(value)}, which is not in {short(space)}"
    elif isinstance(space, Tuple):
        if not isinstance(value, (tuple, list, np.ndarray)) or len(value) != len(space.spaces):
            return f" is {short(value)}, and {short(space)} is declared"
        for place, (inner, one) in enumerate(zip(space.spaces, value)):  # noqa: B905  Python 3.9
            wrong = unlike(inner, one)
            if wrong:
                return f", its part {place},{wrong}"
    elif isinstance(space, (Discrete, MultiDiscrete, MultiBinary)) and not _among(space, value):
        return f" is {short(value)}, which is not in {short(space)}"
    return ""


def masked(value: Any) -> bool:
    return isinstance(value, np.ma.MaskedArray) and bool(np.any(value.mask))


def _whole(space: Box, value: Any) -> bool:
    """Whether nothing of a value is lost in a space of whole numbers."""
    try:
        plain = np.asarray(value, dtype=np.float64)
        return bool((plain.astype(space.dtype) == plain).all())
    except (TypeError, ValueError):
        return False


def _among(space: Space[Any], value: Any) -> bool:
    """Whether a value is one of those that a space of choices has; one number may be in a list."""
    plain = np.asarray(value)
    if plain.dtype.kind not in "iufb" or masked(value):
        return False
    if isinstance(space, Discrete):
        low = int(space.start)
        return bool(
            plain.size == 1
            and plain.dtype.kind != "f"
            and (plain >= low).all()
            and (plain < low + int(space.n)).all()
        )
    return bool(
        plain.shape == space.shape
        and space.contains(plain.astype(space.dtype))
        and (plain.astype(space.dtype) == plain).all()
    )
