"""openpi's messages: msgpack, with arrays as maps of bytes, type and shape (its `msgpack_numpy`).

Numbers only: an array of objects is refused on both sides, so nothing on the wire is ever code.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from enpire.errors import PolicyError

KINDS = frozenset("biuf")  # of NumPy's types: truth values, whole numbers, fractions
LONGEST = 64 * 2**20  # bytes of a message


def pack(message: dict[str, Any]) -> bytes:
    """A message; raises PolicyError for an array of anything but numbers."""
    import msgpack  # of the extra `vla`: this module is imported without it too

    packed: bytes = msgpack.packb(message, default=_plain)
    return packed


def unpack(data: bytes) -> dict[str, Any]:
    """The inverse of `pack`; raises PolicyError for what is none of its messages."""
    import msgpack

    try:
        message = msgpack.unpackb(data, object_hook=_array, strict_map_key=False)
    except PolicyError:
        raise
    except Exception as error:  # msgpack has many, some of them plain ValueErrors
        raise PolicyError(f"a message that is no msgpack: {error}") from error
    if not isinstance(message, dict):
        raise PolicyError(f"a message that is no map but {type(message).__name__}")
    try:
        return {n.decode() if isinstance(n, bytes) else n: v for n, v in message.items()}
    except UnicodeDecodeError as error:
        raise PolicyError(f"a message with a name that is no text: {error}") from error


def _plain(value: Any) -> dict[bytes, Any]:
    if not isinstance(value, np.ndarray | np.generic) or value.dtype.kind not in KINDS:
        raise PolicyError(f"{type(value).__name__} has no place in a message: arrays of numbers do")
    if isinstance(value, np.ndarray):
        told = {b"data": value.tobytes(), b"dtype": value.dtype.str, b"shape": value.shape}
        return {b"__ndarray__": True, **told}
    return {b"__npgeneric__": True, b"data": value.item(), b"dtype": value.dtype.str}


def _array(value: dict[Any, Any]) -> Any:
    said = {name.encode() if isinstance(name, str) else name: v for name, v in value.items()}
    if b"__ndarray__" in said:
        return _filled(said)
    if b"__npgeneric__" in said:
        return _type(said).type(said[b"data"])
    return value


def _filled(said: dict[Any, Any]) -> NDArray[Any]:
    kind, data = _type(said), said.get(b"data")
    shape: list[int] = said.get(b"shape") or []
    whole = isinstance(said.get(b"shape"), list) and all(
        isinstance(n, int) and n >= 0 for n in shape
    )
    if not whole or not isinstance(data, bytes) or math.prod(shape) * kind.itemsize != len(data):
        raise PolicyError("an array whose shape is not that of its bytes")
    return np.frombuffer(data, kind).reshape(shape).copy()


def _type(said: dict[Any, Any]) -> np.dtype[Any]:
    name = said.get(b"dtype")
    try:
        kind = np.dtype(name.decode() if isinstance(name, bytes) else name)
    except (TypeError, ValueError) as error:
        raise PolicyError(f"an array of unknown type: {error}") from error
    if not isinstance(name, bytes | str) or kind.kind not in KINDS:
        raise PolicyError(f"an array of type {name!r}: numbers are taken")
    return kind
