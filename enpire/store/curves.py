"""Training curves of a run: lines of JSON in `curves/`, one file for each training.

A process that learns appends a line now and then. One that goes on after a kill writes some lines
again, with the same values; `CurveReader` tells them once. Nothing of a run depends on curves, so a
disk that is full ends a curve and not the training.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from enpire.json_text import loads

CURVES = "curves"  # folder of a run


def training_curve(run: Path, number: int) -> Path:
    """Return the file with the curves of the training of round `number`."""
    return run / CURVES / f"training-{number}.jsonl"


def learner_curve(run: Path, first: int) -> Path:
    """Return the file with the curves of the online learner that began in round `first`."""
    return run / CURVES / f"learner-{first}.jsonl"


def lines_after(path: Path, offset: int) -> bytes:
    """Return the whole lines of a file after `offset` bytes; none where there is no file."""
    try:
        with path.open("rb") as file:
            file.seek(offset)
            data = file.read()
    except FileNotFoundError:
        return b""
    return data[: data.rfind(b"\n") + 1]


@dataclass(frozen=True, slots=True)
class CurvePoint:
    """One value of a training."""

    training: str  # name of the training's file, without its suffix: `training-3`, `learner-1`
    name: str  # stage and measure, `policy/loss`
    step: int  # gradient steps before it, or versions of an online learner
    value: float
    at: float  # when it was written, Unix time [s]


class CurveWriter:
    """Appends to one file of curves; it ends by itself, in silence, where that cannot be done."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._failed = False

    def add(self, stage: str, step: int, values: Mapping[str, float]) -> None:
        """Append the values of a step of one stage of a training."""
        if self._failed:
            return
        finite = {name: float(v) for name, v in values.items() if math.isfinite(v)}
        line = json.dumps({"stage": stage, "step": step, "at": time.time(), "values": finite})
        self.append(line.encode() + b"\n")

    def append(self, lines: bytes) -> None:
        """Append lines that another such writer has written."""
        if self._failed or not lines:
            return
        try:
            self._path.parent.mkdir(exist_ok=True)
            with self._path.open("a+b") as file:
                # A line that a kill has cut short must not swallow the next one.
                torn = file.tell() and self._last_byte() != b"\n"
                file.write(b"\n" * bool(torn) + lines)
        except OSError:
            self._failed = True

    def _last_byte(self) -> bytes:
        with self._path.open("rb") as file:
            file.seek(-1, 2)
            return file.read(1)


@dataclass(slots=True)
class CurveReader:
    """Reads the curves of a run that may be growing."""

    run: Path  # folder of the run
    _offsets: dict[Path, int] = field(default_factory=dict)
    _known: set[tuple[str, str, int]] = field(default_factory=set)

    def read(self) -> list[CurvePoint]:
        """Return the points that came since the last call, each training's in order of writing."""
        points = []
        for path in sorted((self.run / CURVES).glob("*.jsonl")):
            for point in self._added(path):
                key = point.training, point.name, point.step
                if key not in self._known:
                    self._known.add(key)
                    points.append(point)
        return points

    def _added(self, path: Path) -> Iterator[CurvePoint]:
        begin = self._offsets.get(path, 0)
        whole = lines_after(path, begin)
        self._offsets[path] = begin + len(whole)
        for line in whole.splitlines():
            if (entry := _entry(line)) is not None:
                stage, step, at, values = entry
                for name, value in values.items():
                    yield CurvePoint(path.stem, f"{stage}/{name}", step, value, at)


def _entry(line: bytes) -> tuple[str, int, float, dict[str, float]] | None:
    """Return what one line says; None for one that a kill has cut short."""
    try:
        entry: dict[str, Any] = loads(line)
        values = {str(name): float(value) for name, value in entry["values"].items()}
        return str(entry["stage"]), int(entry["step"]), float(entry["at"]), values
    except (AttributeError, KeyError, OverflowError, TypeError, ValueError):
        return None
