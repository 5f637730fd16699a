"""How busy this machine's GPUs are while a run goes on, as NVIDIA's driver says it."""

from __future__ import annotations

import shutil
import subprocess
import threading
from collections.abc import Callable, Mapping
from typing import Self

PROGRAM = "nvidia-smi"
QUERY = ("--query-gpu=utilization.gpu", "--format=csv,noheader,nounits")
EVERY_S = 10.0  # between looks; the driver averages over a second or less before each
PATIENCE_S = 5.0  # for an answer
SAMPLES, BUSY = "gpu_samples", "gpu_busy"  # facts of a run: a sample is one look at one GPU


def look() -> list[float]:
    """The share of the last moment in which each GPU ran anything; none where there is no GPU.

    A GPU that does not say, as one that is parted (MIG), is left out.
    """
    program = shutil.which(PROGRAM)
    if program is None:
        return []
    try:
        said = subprocess.run(
            [program, *QUERY], capture_output=True, text=True, timeout=PATIENCE_S, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return []
    return [float(line) / 100.0 for line in said.stdout.split() if line.isdecimal()]


class GpuMonitor:
    """Looks every so often, from a thread of its own, until the block ends."""

    def __init__(
        self,
        before: Mapping[str, str],
        every_s: float = EVERY_S,
        look: Callable[[], list[float]] = look,
    ) -> None:
        """before: facts of the run, which it counts on from."""
        self._samples, self._busy = int(before.get(SAMPLES, 0)), float(before.get(BUSY, 0.0))
        self._every_s, self._look = every_s, look
        self._over, self._turn = threading.Event(), threading.Lock()
        self._thread = threading.Thread(target=self._watch, name="gpu", daemon=True)

    @property
    def facts(self) -> dict[str, str]:
        """What the run's ledger is to say; nothing where no GPU was seen."""
        with self._turn:
            return {SAMPLES: str(self._samples), BUSY: repr(self._busy)} if self._samples else {}

    @property
    def busy(self) -> float | None:
        """The mean of all that was seen, from 0 to 1; None where no GPU was."""
        with self._turn:
            return self._busy / self._samples if self._samples else None

    def _watch(self) -> None:
        while not self._over.is_set():
            seen = self._look()
            if not seen and not self._samples:  # there is none
                return
            with self._turn:
                self._samples += len(seen)
                self._busy += sum(seen)
            self._over.wait(self._every_s)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join(PATIENCE_S)
