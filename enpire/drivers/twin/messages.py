"""What a simulated station and its users say to each other, as bytes."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np

from enpire.drivers.driver import Picture, Reading
from enpire.drivers.wire import Objects
from enpire.types import FloatArray

FOLDER = "sim"  # in the runtime folder
READINGS, SETPOINTS, OBJECTS = "readings", "setpoints", "objects"
PICTURES, WATCHED = "pictures-", "watched-"
"""Begin the names, that end in a camera's, of its mailbox and of when somebody last looked."""
_READING = struct.Struct("<qQQ")  # stamp, axes, arms
_SETPOINT = struct.Struct("<q?")  # stamp, whether to stop
_OBJECTS = struct.Struct("<qQ")  # stamp, objects
_PICTURE = struct.Struct("<qII")  # stamp, height, width


def folder(runtime: Path) -> Path:
    """The folder of its mailboxes and socket."""
    return runtime / FOLDER


def encode_reading(reading: Reading) -> bytes:
    """A reading."""
    head = _READING.pack(reading.stamp, len(reading.position), len(reading.force))
    numbers = (reading.position, reading.velocity, reading.effort, reading.force.ravel())
    return head + np.concatenate(numbers).tobytes()


def decode_reading(body: bytes) -> Reading:
    """Return the reading of a message."""
    stamp, axes, arms = _READING.unpack_from(body)
    numbers = np.frombuffer(body, np.float64, offset=_READING.size)
    position, velocity, effort = numbers[: 3 * axes].reshape(3, axes)
    return Reading(stamp, position, velocity, effort, numbers[3 * axes :].reshape(arms, 3).copy())


def encode_setpoint(stamp: int, setpoint: FloatArray | None) -> bytes:
    """A setpoint, or None to stop."""
    body = b"" if setpoint is None else np.asarray(setpoint, np.float64).tobytes()
    return _SETPOINT.pack(stamp, setpoint is None) + body


def decode_setpoint(body: bytes) -> tuple[int, FloatArray | None]:
    """Return the stamp and the setpoint of a message."""
    stamp, stop = _SETPOINT.unpack_from(body)
    return stamp, None if stop else np.frombuffer(body, np.float64, offset=_SETPOINT.size)


def encode_objects(objects: Objects) -> bytes:
    """Poses."""
    head = _OBJECTS.pack(objects.stamp, len(objects.position))
    return head + np.concatenate([objects.position.ravel(), objects.rotation.ravel()]).tobytes()


def decode_objects(body: bytes) -> Objects:
    """Return the objects of a message."""
    stamp, count = _OBJECTS.unpack_from(body)
    numbers = np.frombuffer(body, np.float64, offset=_OBJECTS.size)
    return Objects(
        stamp, numbers[: 3 * count].reshape(count, 3), numbers[3 * count :].reshape(count, 3, 3)
    )


def picture_size(height: int, width: int) -> int:
    """Bytes of a picture's message."""
    return _PICTURE.size + 3 * height * width


def encode_picture(picture: Picture) -> bytes:
    """A picture."""
    height, width, _ = picture.image.shape
    return _PICTURE.pack(picture.stamp, height, width) + picture.image.tobytes()


def decode_picture(body: bytes) -> Picture:
    """Likewise; its pixels cannot be written."""
    stamp, height, width = _PICTURE.unpack_from(body)
    pixels = np.frombuffer(body, np.uint8, offset=_PICTURE.size)
    return Picture(stamp, pixels.reshape(height, width, 3))
