"""TensorBoard's event files in a run: `tensorboard --logdir runs` shows them.

A run's own scalars are in `tensorboard/`, and those of each training in a folder of its own below,
so that TensorBoard draws the curves of all rounds into one plot. Each start of a run writes new
files, and reads those of earlier starts to see what is told already. So nothing is told twice, and
files that were deleted are written again.
"""

from __future__ import annotations

import os
import struct
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from enpire.observe.tracking.scalars import Key, Scalar
from enpire.store.layout import TENSORBOARD

PATTERN = "events.out.tfevents.*"
VERSION = "brain.Event:2"  # of the format, which each file begins with
TRAININGS = ("training-", "learner-")  # how the names of their scalars begin


class EventFiles:
    """Writes a run's scalars as event files; see `Tracker`."""

    def __init__(self, run: Path) -> None:
        """Write below the folder of a run; nothing is written before the first scalar."""
        self._folder = run / TENSORBOARD
        self._files: dict[Path, _EventFile] = {}

    def known_keys(self) -> set[Key]:
        """See `Tracker`."""
        found = set()
        for path in event_files(self._folder):
            with suppress(ValueError):  # what follows damage no reader sees: it is told again
                for tag, step, _, _ in read_scalars(path):
                    found.add(Key(_whole_name(self._folder, path, tag), step))
        return found

    def log(self, scalars: Sequence[Scalar]) -> None:
        """See `Tracker`."""
        for scalar in scalars:
            folder, tag = self._place(scalar.name)
            if folder not in self._files:
                self._files[folder] = _EventFile(folder)
            self._files[folder].add(tag, scalar)
        for file in self._files.values():
            file.flush()

    def close(self) -> None:
        """See `Tracker`."""
        for file in self._files.values():
            file.close()
        self._files.clear()

    def _place(self, name: str) -> tuple[Path, str]:
        """Return the folder of a scalar and what it is called there."""
        if name.startswith(TRAININGS):
            training, _, tag = name.partition("/")
            return self._folder / training, tag
        return self._folder, name


class _EventFile:
    """One file, which no other start of the run writes to."""

    def __init__(self, folder: Path) -> None:
        from tensorboardX.proto.event_pb2 import Event
        from tensorboardX.record_writer import RecordWriter

        self._event: Any = Event
        folder.mkdir(parents=True, exist_ok=True)
        now = time.time()
        stem = PATTERN.replace("*", f"{now:017.6f}")  # in this order they are read
        self._writer: Any = RecordWriter(str(folder / f"{stem}.{os.getpid()}"))
        self._writer.write(Event(wall_time=now, file_version=VERSION).SerializeToString())

    def add(self, tag: str, scalar: Scalar) -> None:
        value = {"tag": tag, "simple_value": scalar.value}
        event = self._event(wall_time=scalar.at, step=scalar.step, summary={"value": [value]})
        self._writer.write(event.SerializeToString())

    def flush(self) -> None:
        self._writer.flush()

    def close(self) -> None:
        self._writer.close()


def event_files(folder: Path) -> list[Path]:
    """Return the event files below a folder, oldest first."""
    return sorted(folder.rglob(PATTERN))


def read_scalars(path: Path) -> Iterator[tuple[str, int, float, float]]:
    """Yield tag, step, value and Unix time [s] of each scalar of an event file.

    A last record that a kill has cut short ends it.

    Raises:
        ValueError: a record before the last one is not what was written.
    """
    from tensorboardX.proto.event_pb2 import Event

    for record in _records(path.read_bytes()):
        event = Event.FromString(record)
        for value in event.summary.value:
            yield value.tag, event.step, value.simple_value, event.wall_time


def _records(data: bytes) -> Iterator[bytes]:
    """Yield the records of a file: length, its checksum, bytes, their checksum (TFRecord)."""
    from tensorboardX.crc32c import crc32c

    def masked(part: bytes) -> int:
        crc: int = crc32c(part)
        return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF

    at = 0
    while at + 12 <= len(data):
        length, check = struct.unpack_from("<QI", data, at)
        if masked(data[at : at + 8]) != check:
            raise ValueError(f"the record at byte {at} is not what was written")
        begin, end = at + 12, at + 12 + length
        if end + 4 > len(data):
            return
        if masked(data[begin:end]) != struct.unpack_from("<I", data, end)[0]:
            raise ValueError(f"the record at byte {at} is not what was written")
        yield data[begin:end]
        at = end + 4


def _whole_name(folder: Path, path: Path, tag: str) -> str:
    below = path.parent.relative_to(folder).as_posix()
    return tag if below == "." else f"{below}/{tag}"
