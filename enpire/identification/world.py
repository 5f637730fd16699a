"""Writes what was identified as a world pack: the same bench, and what the arms there are like."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from enpire.errors import StoreError
from enpire.identification.fit import SIGNALS, Errors, ParameterFit
from enpire.identification.recording import COLUMNS, Recording
from enpire.packs import Robot, World
from enpire.packs.finder import MARKER
from enpire.store.durable import publish_file
from enpire.twin import dynamics
from enpire.types import FloatArray

DYNAMICS = "dynamics.toml"
DIGITS = 6


@dataclass(frozen=True, slots=True)
class HeldOut:
    """How well recordings that no parameter was fitted to are predicted, open loop."""

    seconds: float
    packs: Errors
    fit: Errors


def write_world(
    folder: Path,
    base: World,
    robot: Robot,
    fit: ParameterFit,
    used: Sequence[Recording],
    held: HeldOut | None,
) -> None:
    """Make `folder` a world pack: the files of `base`, and the parameters that were shown.

    Raises:
        StoreError: there is something else already, or the disk does not take it.
    """
    if folder.exists() and not (folder / DYNAMICS).is_file():
        raise StoreError(f"{folder} is there already, and is no world that was identified")
    try:
        shutil.copytree(
            base.model.parent,
            folder,
            dirs_exist_ok=True,
            ignore=shutil.ignore_patterns(MARKER["sim"], DYNAMICS, "*.md"),
        )
    except OSError as error:
        raise StoreError(f"{folder} cannot be written: {error}") from error
    publish_file(folder / DYNAMICS, dynamics_toml(base, robot, fit, used, held).encode())
    lines = {
        "description": f"{base.description}; with the {robot.name} of {folder.name}, identified",
        "model": base.model.name,
        "dynamics": DYNAMICS,
    }
    text = "".join(f"{key} = {json.dumps(value)}\n" for key, value in lines.items())
    publish_file(folder / MARKER["sim"], text.encode())


def dynamics_toml(
    base: World, robot: Robot, fit: ParameterFit, used: Sequence[Recording], held: HeldOut | None
) -> str:
    """The text of a `dynamics.toml`: parameters, how far they are known, from what."""
    shown = np.flatnonzero(fit.shown)
    deviation = np.sqrt(np.diag(fit.covariance))
    correlation = (fit.covariance / np.outer(deviation, deviation))[np.ix_(shown, shown)]
    lines = [
        "# Written by `enpire twin fit`; docs/identification.md says how to read it.",
        f"robot = {json.dumps(robot.name)}",
        "",
        "[from]",
        *_table(
            {
                "world": f"{base.name} {base.sha256}",
                "robot": f"{robot.name} {robot.sha256}",
                "recordings": [each.name for each in used],
                "sha256": [_digest(each) for each in used],
                "seconds": round(sum(each.seconds for each in used), 2),
                "rows": fit.rows[0],
                "rows_left_out": fit.rows[1],
                "not_shown": [n for n, s in zip(fit.names, fit.shown, strict=True) if not s],
            }
        ),
        "",
        "[noise] # that no parameter explains, by axis: rad, rad/s, N m; grippers in their units",
        *_table({name: _rounded(fit.noise[name], 3) for name in SIGNALS}),
    ]
    if held is not None:
        lines += ["", "[held_out] # root mean square errors of an open-loop prediction, by axis"]
        lines += _table(
            {
                "seconds": round(held.seconds, 2),
                **{f"{n}_of_packs": _rounded(getattr(held.packs, n), 3) for n in SIGNALS},
                **{f"{n}_of_fit": _rounded(getattr(held.fit, n), 3) for n in SIGNALS},
            }
        )
    scale = fit.prior.scale
    for row, i in enumerate(shown):
        lines += ["", "[[parameters]]"]
        lines += _table(
            {
                "name": fit.names[i],
                "unit": dynamics.UNITS[fit.names[i].rsplit("/", 1)[1]],
                "value": _digits(fit.values[i]),
                "low": _digits(fit.low[i]),
                "high": _digits(fit.high[i]),
                "of_pack": _digits(fit.nominal[i]),
                "log": bool(fit.prior.log[i]),
                "deviation": _digits(deviation[i] * scale[i]),
                "correlation": [round(float(c), 4) + 0.0 for c in correlation[row]],
            }
        )
    return "\n".join(lines) + "\n"


def _table(values: Mapping[str, object]) -> list[str]:
    """Lines of TOML; JSON writes text, numbers and lists as TOML reads them, but for NaN."""
    return [f"{key} = {json.dumps(value).replace('NaN', 'nan')}" for key, value in values.items()]


def _rounded(values: FloatArray, digits: int) -> list[float]:
    return [_digits(value, digits) for value in values]


def _digits(value: float, digits: int = DIGITS) -> float:
    return float(f"{float(value):.{digits}g}")


def _digest(recording: Recording) -> str:
    total = hashlib.sha256()
    for name in COLUMNS:
        total.update(np.ascontiguousarray(getattr(recording, name), np.float64).tobytes())
    return total.hexdigest()
