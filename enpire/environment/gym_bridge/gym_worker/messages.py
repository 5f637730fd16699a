"""Messages between `enpire` and an environment's process.

One is the length of its JSON and of its array's bytes (big-endian, 4 bytes each), the JSON, and the
array, little-endian float64.
"""

from __future__ import annotations

import json
import struct
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]
Came = tuple[dict[str, Any], Vector]
LENGTHS = struct.Struct(">II")


def send(stream: BinaryIO, told: dict[str, Any], array: Any = ()) -> None:
    """Write one message."""
    text, data = json.dumps(told).encode(), np.asarray(array, dtype="<f8").tobytes()
    stream.write(LENGTHS.pack(len(text), len(data)) + text + data)
    stream.flush()


def receive(stream: BinaryIO) -> tuple[dict[str, Any], Vector] | None:
    """Read one message; None at the stream's end."""
    head = stream.read(LENGTHS.size)
    if len(head) < LENGTHS.size:
        return None
    text, data = (stream.read(length) for length in LENGTHS.unpack(head))
    return json.loads(text), np.frombuffer(data, dtype="<f8")
