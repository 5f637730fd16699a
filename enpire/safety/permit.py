"""Whether a station may move at all: one function that everything asks that could move it."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from datetime import date
from enum import StrEnum

from enpire.errors import SafetyError, StoreError, UsageError
from enpire.json_text import parsed
from enpire.safety.station import StationFile
from enpire.store.durable import publish_file


class Permit(StrEnum):
    """What a supervisor may do with what it is sent."""

    DRY = "dry"  # show what would be sent, and send nothing
    MOTION = "motion"


@dataclass(frozen=True, slots=True)
class Passed:
    """A passed `enpire station check`: the local day, the station's sha256, and what was found."""

    day: str
    sha256: str
    findings: tuple[str, ...]


def write_passed(station: StationFile, day: date, findings: tuple[str, ...]) -> None:
    """Note that a station passed its check on a day."""
    passed = Passed(day.isoformat(), station.sha256, findings)
    publish_file(station.passed, json.dumps(asdict(passed), indent=2).encode())


def permit(station: StationFile, confirm_motion: bool, dry_run: bool, day: date) -> Permit:
    """What may be done on `day`, the local one.

    Raises:
        UsageError: neither or both of --confirm-motion and --dry-run.
        SafetyError: the station has not passed its check that day, as it is now.
    """
    if confirm_motion == dry_run:
        raise UsageError("arms move with --confirm-motion; --dry-run shows what would be sent")
    if dry_run:
        return Permit.DRY
    check = f"enpire station check {station.path}"
    try:
        said = parsed(station.passed.read_bytes())
        passed = Passed(said["day"], said["sha256"], tuple(said["findings"]))
    except FileNotFoundError:
        raise SafetyError(f"{station.path} has not been checked: {check}") from None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise StoreError(f"{station.passed} is no record of a check ({error}): {check}") from error
    if passed.sha256 != station.sha256:
        raise SafetyError(f"{station.path} or its robot has changed since its check: {check}")
    if passed.day != day.isoformat():
        raise SafetyError(f"{station.path} was checked on {passed.day}, not today: {check}")
    return Permit.MOTION
