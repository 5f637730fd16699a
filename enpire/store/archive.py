"""The files of a zarr group in one file: a zip archive in which nothing is compressed.

`zarr.storage.ZipStore` reads it. Files always make the same bytes, and no other bytes are read
back. So a hash over the files is one over the whole archive.
"""

from __future__ import annotations

import os
import struct
import zlib
from collections.abc import Iterator
from typing import IO

from enpire.store.zarr3 import Files

SUFFIX = ".zip"

_LOCAL = struct.Struct("<4s5H3I2H")
_SIZES = struct.Struct("<2H2Q")  # of a local header: sizes of 64 bits
_CENTRAL = struct.Struct("<4s6H3I5H2I")
_PLACE = struct.Struct("<2H3Q")  # of the directory: sizes and the offset
_END_64 = struct.Struct("<4sQ2H2I4Q")
_LOCATOR = struct.Struct("<4sIQI")
_END = struct.Struct("<4s4H2IH")

_VERSION = 45  # of the format: the first with sizes of 64 bits
_UTF8 = 1 << 11
_STORED = 0
_DAY = 1 << 5 | 1  # 1 January 1980, the first that the format knows
_ELSEWHERE, _ELSEWHERE_16 = 0xFFFFFFFF, 0xFFFF  # the number stands in the field of 64 bits
_MODE = 0o100644 << 16


def pack(files: Files) -> bytes:
    """Return the archive of some files, in their order."""
    return b"".join(parts(files))


def unpack(data: bytes) -> Files:
    """Return the files of an archive that `pack` made.

    Raises:
        ValueError: a byte of it differs from what `pack` makes.
    """
    files: Files = {}
    at = 0
    while data[at : at + 4] == b"PK\3\4":
        name, start, at = _entry(data, at)
        if at > len(data) or name in files:
            raise ValueError("it is cut off, or names a file twice")
        files[name] = data[start:at]
    at = 0
    for part in parts(files):
        if not data.startswith(part, at):
            raise ValueError(f"its bytes from {at} on are not what was written")
        at += len(part)
    if at != len(data):
        raise ValueError(f"{len(data) - at} bytes follow it")
    return files


def first(stream: IO[bytes]) -> bytes:
    """Return the content of the first file of an archive, without reading the others.

    Raises:
        ValueError: it is no archive.
    """
    head = stream.read(_LOCAL.size)
    if len(head) != _LOCAL.size:
        raise ValueError("it is cut off")
    head += stream.read(sum(_LOCAL.unpack(head)[-2:]))
    _, start, end = _entry(head, 0)
    if end > stream.seek(0, os.SEEK_END):
        raise ValueError("it is cut off")
    stream.seek(start)
    return stream.read(end - start)


def _entry(data: bytes, at: int) -> tuple[str, int, int]:
    """Return the name of the file whose header is there, and where its content starts and ends."""
    try:
        *_, name, extra = _LOCAL.unpack_from(data, at)
        path = at + _LOCAL.size
        *_, size = _SIZES.unpack_from(data, path + name)
    except struct.error as error:
        raise ValueError("it is cut off") from error
    start: int = path + name + extra
    return data[path : path + name].decode(), start, start + size


def parts(files: Files) -> Iterator[bytes]:
    """Yield the bytes of `pack`, piece by piece; contents are not copied."""
    directory: list[bytes] = []
    offset = 0
    for name, content in files.items():
        path, crc, size = name.encode(), zlib.crc32(content), len(content)
        about = _UTF8, _STORED, 0, _DAY, crc, _ELSEWHERE, _ELSEWHERE, len(path)
        sizes = _SIZES.pack(1, _SIZES.size - 4, size, size)
        yield _LOCAL.pack(b"PK\3\4", _VERSION, *about, len(sizes)) + path + sizes
        yield content
        place = _PLACE.pack(1, _PLACE.size - 4, size, size, offset)
        rest = len(place), 0, 0, 0, _MODE, _ELSEWHERE
        made_by = 3 << 8 | _VERSION  # on Unix, for the mode
        directory.append(_CENTRAL.pack(b"PK\1\2", made_by, _VERSION, *about, *rest) + path + place)
        offset += _LOCAL.size + len(path) + len(sizes) + size
    index = b"".join(directory)
    count, end = len(files), offset + len(index)
    yield index
    yield _END_64.pack(
        b"PK\6\6", _END_64.size - 12, _VERSION, _VERSION, 0, 0, count, count, len(index), offset
    )
    yield _LOCATOR.pack(b"PK\6\7", 0, end, 1)
    many = _ELSEWHERE_16, _ELSEWHERE_16
    yield _END.pack(b"PK\5\6", 0, 0, *many, _ELSEWHERE, _ELSEWHERE, 0)
