"""Where training is, kept so that it can go on from there to the same weights, to the last bit."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from safetensors.torch import load as loaded
from safetensors.torch import save as saved
from torch import Tensor

from enpire.json_text import loads
from enpire.store.curves import CurveWriter
from enpire.store.durable import disk_errors, publish_file

EVERY_S = 15.0  # between two checkpoints of one stage: what an interruption costs at most
SUFFIX = ".safetensors"
STATE = "state"  # of the metadata, which is one line of JSON

Clock = Callable[[], float]


@dataclass(frozen=True, slots=True)
class TrainingState:
    """A stage of training as it was: its tensors, and numbers and texts beside them."""

    tensors: dict[str, Tensor]
    state: dict[str, Any]


class Checkpoint:
    """A folder with a file for each stage of one training; without a folder nothing is kept.

    `of` says what is trained from what: what was kept for another is not taken.
    """

    def __init__(
        self,
        folder: Path | None = None,
        of: str = "",
        every: float = EVERY_S,
        clock: Clock = time.monotonic,
        curve: CurveWriter | None = None,
    ) -> None:
        """curve: takes what `show` is told; without one nobody sees it."""
        self._curve = curve
        self._folder, self._of, self._every, self._clock = folder, of, every, clock
        self._last = clock()

    @property
    def keeps(self) -> bool:
        """Whether anything is kept at all."""
        return self._folder is not None

    @property
    def due(self) -> bool:
        """Whether it is time to keep where training is."""
        return self.keeps and self._clock() - self._last >= self._every

    def show(self, stage: str, step: int, values: Mapping[str, float]) -> None:
        """Tell how training goes: values of one step of a stage, for its curves."""
        if self._curve is not None:
            self._curve.add(stage, step, values)

    def keep(self, stage: str, kept: TrainingState) -> None:
        """Write where a stage is, in place of where it was.

        Raises:
            StoreError: the disk is full, or the folder cannot be written.
        """
        if self._folder is None:
            return
        path = self._folder / f"{stage}{SUFFIX}"
        text = json.dumps({"of": self._of, **kept.state})
        data = saved({name: t.contiguous() for name, t in kept.tensors.items()}, {STATE: text})
        with disk_errors(self._folder):
            self._folder.mkdir(parents=True, exist_ok=True)
        publish_file(path, data)
        self._last = self._clock()

    def find(self, stage: str) -> TrainingState | None:
        """Find where a stage was; None if it never began, or what is there cannot be read."""
        if self._folder is None:
            return None
        try:
            data = (self._folder / f"{stage}{SUFFIX}").read_bytes()
            header = loads(data[8 : 8 + int.from_bytes(data[:8], "little")])
            state = loads(header["__metadata__"][STATE])
            tensors = loaded(data)
        except (OSError, ValueError, KeyError, SafetensorError):
            return None  # it begins anew, which costs time and changes nothing
        return TrainingState(tensors, state) if state.pop("of") == self._of else None


def digest(*parts: object) -> str:
    """The hash of what a training is made from, for `Checkpoint`'s `of`."""
    hashed = hashlib.sha256()
    for part in parts:
        hashed.update(f"{part}\n".encode())
    return hashed.hexdigest()


NOWHERE = Checkpoint()  # nothing is kept
