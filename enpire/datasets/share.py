"""How much of a GPU is used meanwhile."""

from __future__ import annotations

import statistics
import subprocess
from threading import Event, Thread
from types import TracebackType
from typing import Self

import torch

EVERY_S = 0.5  # between two looks: NVIDIA counts over up to a second before each
ASK = "--query-gpu=utilization.gpu", "--format=csv,noheader,nounits"


class Share:
    """The part of the time in which something runs on the GPU, by `nvidia-smi`, within the block.

    It tells busy from idle, and not how much of the GPU what runs there keeps busy.
    """

    def __init__(self, where: torch.device) -> None:
        """where: on a processor nothing is asked."""
        self._asked: list[str] | None = None
        if where.type == "cuda":
            uuid = torch.cuda.get_device_properties(where).uuid
            self._asked = ["nvidia-smi", f"--id=GPU-{uuid}", *ASK]
        self._looks: list[float] = []
        self._ended = Event()
        self._thread = Thread(target=self._look, daemon=True)

    @property
    def mean(self) -> float | None:
        """From 0 to 1; None where there is no GPU, or nobody tells."""
        return statistics.fmean(self._looks) if self._looks else None

    def _look(self) -> None:
        while self._asked and not self._ended.wait(EVERY_S):
            try:
                told = subprocess.run(self._asked, capture_output=True, text=True, check=True)
                self._looks.append(float(told.stdout) / 100)
            except (OSError, subprocess.CalledProcessError, ValueError):
                return  # no such program, or it cannot tell

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self._ended.set()
        self._thread.join()
