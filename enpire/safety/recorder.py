"""The flight recorder: the last seconds of states and setpoints, written down on every stop."""

from __future__ import annotations

import json
import threading
import zipfile
from dataclasses import asdict, dataclass
from io import BytesIO
from pathlib import Path

import numpy as np

from enpire.drivers import Reading
from enpire.errors import StoreError
from enpire.safety.machine import Mode
from enpire.safety.rules import GateRule
from enpire.store.durable import publish_file
from enpire.types import FloatArray

SECONDS = 30.0
FORMAT = "%05d"
NUMBERS = ("stamp", "mode", "rules", "measured")


@dataclass(frozen=True, slots=True)
class StopRecord:
    """One stop, as written beside its record."""

    number: int
    issued: int  # monotonic ns
    mode: str  # after it
    rules: tuple[str, ...]  # names of those that it was for
    # What the driver raised last, since somebody armed or recovered the station; empty for nothing.
    driver: str


class Recorder:
    """A ring of periods; nothing is allocated in a period.

    Columns: stamp [monotonic ns], mode, rules, and measured, when what was read was [ns]; position,
    velocity, effort, wanted, sent (axes,), NaN where there was none; force (arms, 3).
    """

    def __init__(self, folder: Path, axes: int, arms: int, period: float) -> None:
        """Dump into `folder`, numbered on from what is there."""
        self._folder = folder
        rows = round(SECONDS / period)
        shape = {"force": (rows, arms, 3)}
        names = ("position", "velocity", "effort", "wanted", "sent", "force")
        self._numbers = np.zeros((len(NUMBERS), rows), np.int64)
        self._columns = {n: np.full(shape.get(n, (rows, axes)), np.nan) for n in names}
        self._row = 0
        self._writing: threading.Thread | None = None
        self.failed = ""
        folder.mkdir(parents=True, exist_ok=True)
        self._stops = max((int(p.stem) for p in folder.glob("[0-9]*.npz")), default=0)

    def note(
        self,
        stamp: int,
        mode: Mode,
        rules: GateRule,
        reading: Reading | None,
        wanted: FloatArray | None,
        sent: FloatArray | None,
    ) -> None:
        """Keep one period."""
        row = self._row % self._numbers.shape[1]
        self._row += 1
        self._numbers[:, row] = stamp, mode, rules, reading.stamp if reading else 0
        nothing = np.nan
        given = {
            "position": reading.position if reading else nothing,
            "velocity": reading.velocity if reading else nothing,
            "effort": reading.effort if reading else nothing,
            "force": reading.force if reading else nothing,
            "wanted": wanted if wanted is not None else nothing,
            "sent": sent if sent is not None else nothing,
        }
        for name, value in given.items():
            self._columns[name][row] = value

    def dump(self, issued: int, mode: Mode, rules: GateRule, driver: str) -> None:
        """Write down what is kept, oldest first, in a thread of its own: the arms go on braking.

        Two stops in a row are written one after the other.
        """
        kept = min(self._row, self._numbers.shape[1])
        order = np.arange(self._row - kept, self._row) % self._numbers.shape[1]
        columns = {name: column[order] for name, column in self._columns.items()}
        for name, numbers in zip(NUMBERS, self._numbers, strict=True):
            columns[name] = numbers[order]
        self._stops += 1
        stop = StopRecord(self._stops, issued, mode.name.lower(), tuple(rules.names), driver)
        before = self._writing
        self._writing = threading.Thread(target=self._write, args=(stop, columns, before))
        self._writing.start()

    def wait(self) -> None:
        """Wait until all is written."""
        if self._writing is not None:
            self._writing.join()

    def _write(
        self, stop: StopRecord, columns: dict[str, FloatArray], before: threading.Thread | None
    ) -> None:
        if before is not None:
            before.join()
        memory = BytesIO()
        with zipfile.ZipFile(memory, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
            for name, column in columns.items():
                member = BytesIO()
                np.save(member, column, allow_pickle=False)
                archive.writestr(f"{name}.npy", member.getvalue())
        name = FORMAT % stop.number
        try:
            publish_file(self._folder / f"{name}.npz", memory.getvalue())
            publish_file(self._folder / f"{name}.json", json.dumps(asdict(stop)).encode())
        except StoreError as error:  # a full disk must not end the supervision
            self.failed = str(error)
