"""How well hidden parameters of twins are found again, draw by draw, and what that comes to.

A case is a robot's arms, or a task's arms and the object that they handle. Its motions are looked
for once; each draw hides parameters of its own in the twin, plays the motions, fits, and is kept in
a file, so that a bench which was cut short goes on where it was.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.hidden_parameters import HiddenFit
from enpire.errors import StoreError
from enpire.identification.motion import Waves
from enpire.store.durable import disk_errors, publish_file

CLOSE = 0.05  # relative error that counts as found again
WAVES = "waves.json"


@dataclass(frozen=True, slots=True)
class Draw:
    """One hidden draw and what its fit found, each (parameters,), in the parameters' units.

    held_out: RMS error of positions in a motion that nothing was fitted to, of the fit and of the
    packs' values [rad].
    """

    case: str
    number: int
    names: tuple[str, ...]
    true: tuple[float, ...]
    values: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]
    shown: tuple[bool, ...]
    held_out: tuple[float, float]

    @classmethod
    def of(cls, case: str, number: int, found: HiddenFit) -> Draw:
        """What a fit came to."""
        fit = found.fit
        return cls(
            case,
            number,
            fit.names,
            tuple(found.true.tolist()),
            tuple(fit.values.tolist()),
            tuple(fit.low.tolist()),
            tuple(fit.high.tolist()),
            tuple(fit.shown.tolist()),
            found.held_out,
        )


@dataclass(frozen=True, slots=True)
class FitRow:
    """All parameters of one kind over the draws of a case.

    close: how many of `count` are within `CLOSE` of the truth. holds: how many 95% intervals hold
    it. shown: how many the recordings were said to show.
    """

    case: str
    kind: str
    count: int
    close: int
    holds: int
    shown: int
    median: float
    worst: float


def keep(folder: Path, draw: Draw) -> None:
    """Write a draw, durably; raises StoreError."""
    path = folder / f"{draw.number}.json"
    with disk_errors(path):
        folder.mkdir(parents=True, exist_ok=True)
    publish_file(path, json.dumps(asdict(draw)).encode())


def kept(folder: Path, number: int) -> Draw | None:
    """A draw that was kept, or None; raises StoreError if the file is something else."""
    path = folder / f"{number}.json"
    if not path.is_file():
        return None
    try:
        said = json.loads(path.read_text())
        whole: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in said.items()}
        return Draw(**whole)
    except (OSError, ValueError, TypeError) as error:
        raise StoreError(f"{path} holds no draw of this bench: {error}; remove it") from error


def keep_waves(folder: Path, waves: Waves) -> None:
    """Write the motion that was found; raises StoreError."""
    with disk_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
    said = {"amplitudes": waves.amplitudes.tolist(), "phases": waves.phases.tolist()}
    publish_file(folder / WAVES, json.dumps(said).encode())


def kept_waves(folder: Path) -> Waves | None:
    """The motion that was found before, or None; raises StoreError."""
    path = folder / WAVES
    if not path.is_file():
        return None
    try:
        said = json.loads(path.read_text())
        return Waves(np.array(said["amplitudes"]), np.array(said["phases"]))
    except (OSError, ValueError, KeyError) as error:
        raise StoreError(f"{path} holds no motion: {error}; remove it") from error


def rows(draws: Sequence[Draw]) -> list[FitRow]:
    """A row for each case and kind of parameter, and one for all of a case together."""
    found = []
    for case in dict.fromkeys(draw.case for draw in draws):
        mine = [draw for draw in draws if draw.case == case]
        kinds = dict.fromkeys(_kind(name) for name in mine[0].names)
        found += [_row(case, kind, mine) for kind in (*kinds, "all")]
    return found


def markdown(draws: Sequence[Draw]) -> str:
    """The table, and how well motions that were held out are predicted."""
    lines = [
        "| case | parameter | median / worst error | within 5% | intervals hold it | not shown |",
        "|---|---|---|---|---|---|",
    ]
    for row in rows(draws):
        lines.append(
            f"| {row.case} | {row.kind} | {row.median:.1%} / {row.worst:.1%} | "
            f"{row.close} of {row.count} | {row.holds} of {row.count} | {row.count - row.shown} |"
        )
    lines.append("")
    for case in dict.fromkeys(draw.case for draw in draws):
        mine = [draw.held_out for draw in draws if draw.case == case]
        fit, packs = 1e3 * np.median(np.array(mine), axis=0)
        lines.append(
            f"{case}, {len(mine)} draws: held-out positions missed by {fit:.2f} mrad by the fit, "
            f"by {packs:.1f} mrad by the packs' values (medians)."
        )
    return "\n".join(lines)


def _row(case: str, kind: str, draws: Sequence[Draw]) -> FitRow:
    off, holds, shown = [], [], []
    for draw in draws:
        for i, name in enumerate(draw.names):
            if kind in (_kind(name), "all"):
                off.append(abs(draw.values[i] / draw.true[i] - 1.0))
                holds.append(draw.low[i] <= draw.true[i] <= draw.high[i])
                shown.append(draw.shown[i])
    return FitRow(
        case,
        kind,
        len(off),
        sum(each < CLOSE for each in off),
        sum(holds),
        sum(shown),
        float(np.median(off)),
        max(off),
    )


def _kind(name: str) -> str:
    """Of which kind a parameter is; an object's say whose they are."""
    return name.rsplit("/", 1)[1]
