"""openpi's messages: msgpack, with arrays as maps of bytes, type and shape (its `msgpack_numpy`).

Numbers only: an array of objects is refused on both sides, so nothing on the wire is ever code.
What a message takes once it is decoded is bounded by its bytes, and by the maps and lists in it.
"""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

from enpire.errors import PolicyError

KINDS = frozenset("biuf")  # of NumPy's types: truth values, whole numbers, fractions
TYPE = re.compile(r"[<>|=]?(b1|[iu][1248]|f[248])|bool|u?int(8|16|32|64)|float(16|32|64)")
LONGEST = 8 * 2**20  # bytes of a message that a server may send, or be sent
CONTAINERS = 1000  # maps and lists in a message, arrays among them: one of a byte takes 64
ENTRIES = 2**16  # of a list or a map
DIMENSIONS = 8  # of an array


def pack(message: dict[str, Any]) -> bytes:
    """A message; raises PolicyError for an array of anything but numbers."""
    import msgpack  # of the extra `vla`: this module is imported without it too

    packed: bytes = msgpack.packb(message, default=_plain)
    return packed


def unpack(data: bytes) -> dict[str, Any]:
    """The inverse of `pack`; raises PolicyError for what is none of its messages."""
    import msgpack

    count = 0

    def contained[T](value: T) -> T:
        nonlocal count
        count += 1
        if count > CONTAINERS:
            raise PolicyError(f"a message of more than {CONTAINERS} maps and lists")
        return value

    try:
        message = msgpack.unpackb(
            data,
            object_pairs_hook=lambda pairs: _array(_once(contained(pairs))),
            list_hook=contained,
            strict_map_key=False,
            max_array_len=ENTRIES,
            max_map_len=ENTRIES,
        )
    except PolicyError:
        raise
    except Exception as error:  # msgpack has many, some of them plain ValueErrors
        raise PolicyError(f"a message that is no msgpack: {error}") from error
    if not isinstance(message, dict):
        raise PolicyError(f"a message that is no map but {type(message).__name__}")
    try:
        return _once([(n.decode() if isinstance(n, bytes) else n, v) for n, v in message.items()])
    except UnicodeDecodeError as error:
        raise PolicyError(f"a message with a name that is no text: {error}") from error


def _plain(value: Any) -> dict[bytes, Any]:
    if not isinstance(value, np.ndarray | np.generic) or value.dtype.kind not in KINDS:
        raise PolicyError(f"{type(value).__name__} has no place in a message: arrays of numbers do")
    if isinstance(value, np.ndarray):
        told = {b"data": value.tobytes(), b"dtype": value.dtype.str, b"shape": value.shape}
        return {b"__ndarray__": True, **told}
    return {b"__npgeneric__": True, b"data": value.item(), b"dtype": value.dtype.str}


def _once(pairs: list[tuple[Any, Any]]) -> dict[Any, Any]:
    """Return a map of these names; raises PolicyError where two are the same."""
    made: dict[Any, Any] = {}
    for name, value in pairs:
        if name in made:
            raise PolicyError(f"a message with the name {name!r:.40} twice")
        made[name] = value
    return made


def _array(value: dict[Any, Any]) -> Any:
    said = {name.encode() if isinstance(name, str) else name: v for name, v in value.items()}
    if b"__ndarray__" in said:
        return _filled(said)
    if b"__npgeneric__" in said:
        return _number(said)
    return value


def _number(said: dict[Any, Any]) -> np.generic:
    number: Any = said.get(b"data")
    if not isinstance(number, bool | int | float):
        raise PolicyError(f"a number that is a {type(number).__name__}")
    try:
        made: np.generic = _type(said).type(number)
    except (OverflowError, ValueError) as error:
        raise PolicyError(f"a number that is none of its type: {error}") from error
    return made


def _filled(said: dict[Any, Any]) -> NDArray[Any]:
    kind, data = _type(said), said.get(b"data")
    shape: list[int] = said.get(b"shape") or []
    whole = isinstance(said.get(b"shape"), list) and all(
        isinstance(n, int) and n >= 0 for n in shape
    )
    whole = whole and len(shape) <= DIMENSIONS
    if not whole or not isinstance(data, bytes) or math.prod(shape) * kind.itemsize != len(data):
        raise PolicyError("an array whose shape is not that of its bytes")
    return np.frombuffer(data, kind).reshape(shape).copy()


def _type(said: dict[Any, Any]) -> np.dtype[Any]:
    name = said.get(b"dtype")
    name = name.decode(errors="replace") if isinstance(name, bytes) else name
    if not isinstance(name, str) or not TYPE.fullmatch(name):
        raise PolicyError(f"an array of type {str(name)[:20]!r}: numbers are taken, as '<f4'")
    return np.dtype(name)
