"""What a loop does right now, in a file of its run's folder, for who watches it from outside.

The ledger says what has happened; an episode that is under way is not in it. The file is replaced
whole, is not forced to the disk, and goes when the loop ends.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from enpire.json_text import loads
from enpire.rollout.fleet.station_state import StationState
from enpire.store.durable import temporary_name, write_file
from enpire.store.layout import STATUS

if TYPE_CHECKING:
    from enpire.rollout.loop.state import LoopState

FRESH_S = 30.0  # age from which on a status is that of a process that has died or hangs


@dataclass(frozen=True, slots=True)
class LoopStatus:
    """What a loop does right now."""

    at: float  # when this was so, Unix time [s]
    doing: str  # its step, in words
    round: int
    # done, planned: episodes of the step; none are planned where that is not known
    done: int
    planned: int
    deciding: str  # what the episodes of now are to decide; empty where nothing is
    incumbent: str
    success: str  # of the incumbent, for a person
    stations: tuple[StationState, ...]


def status_of(state: LoopState, stations: Sequence[StationState]) -> LoopStatus:
    """Return what a loop does at this moment."""
    return LoopStatus(
        at=time.time(),
        doing=state.doing,
        round=state.round,
        done=state.done,
        planned=state.planned,
        deciding=state.deciding,
        incumbent=state.incumbent,
        success=str(state.success) if state.success.trials else "",
        stations=tuple(stations),
    )


def write_status(folder: Path, status: LoopStatus) -> None:
    """Replace the status in a run's folder; where that fails, there is none: a loop goes on."""
    path = folder / STATUS
    temporary = temporary_name(path)
    try:
        write_file(temporary, json.dumps(asdict(status)).encode())
        os.rename(temporary, path)
    except OSError:
        remove_status(folder)
        temporary.unlink(missing_ok=True)


def remove_status(folder: Path) -> None:
    """Have a run say nothing about what it does right now."""
    (folder / STATUS).unlink(missing_ok=True)


def read_status(folder: Path) -> LoopStatus | None:
    """The status in a run's folder; None where there is none, or it is old."""
    try:
        said = loads((folder / STATUS).read_bytes())
        stations = tuple(StationState(**one) for one in said.pop("stations"))
        status = LoopStatus(stations=stations, **said)
        return status if time.time() - status.at < FRESH_S else None
    except (OSError, ValueError, KeyError, TypeError):
        return None
