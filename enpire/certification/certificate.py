"""A task's certificate: what `enpire task check --full` measured, kept beside the pack.

It names the hashes of task, robot and world that it was measured for, and counts for these alone.
The pack's own hash leaves it out.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from enpire.certification.row import CheckRow
from enpire.errors import EnpireError, PackError
from enpire.json_text import parsed
from enpire.packs import CERTIFICATE, find
from enpire.packs.certificates import CODE, environment_code
from enpire.rollout.evaluation.statistics import Confusion, rogan_gladen


def write(
    folder: Path,
    packs: Mapping[str, str],
    rows: Sequence[CheckRow],
    matrices: Mapping[str, Confusion],
    versions: Mapping[str, str],
) -> Path | None:
    """Keep what was measured in the pack at `folder`; None if nobody may write there."""
    path, new = folder / CERTIFICATE, folder / f".{CERTIFICATE}.new"
    content = {
        "packs": dict(packs),
        "versions": {**versions, CODE: environment_code()},
        "checks": [row.as_json() for row in rows],
        "verifier": {name: asdict(matrix) for name, matrix in matrices.items()},
    }
    try:
        new.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
        os.replace(new, path)
    except OSError:
        return None
    return path


def audit(task: str, packs: Mapping[str, str]) -> Confusion | None:
    """The verifier's confusion matrix for exactly these packs, if it was ever measured.

    task: its name or its folder. packs: content hashes, as every episode carries them.

    Raises:
        PackError: there is a certificate, and it cannot be read.
    """
    try:
        path = find("tasks", task).folder / CERTIFICATE
        content = parsed(path.read_text(encoding="utf-8"))
        if content["packs"] != dict(packs):
            return None
        return Confusion(**content["verifier"]["mixed"])
    except (EnpireError, OSError):  # the task is not here any more, or was never certified
        return None
    except (ValueError, KeyError, TypeError) as error:
        raise PackError(f"{path} is no certificate ({error}): delete it") from error


def corrected(
    successes: int, trials: int, task: str, packs: Mapping[str, str], verified_by: str
) -> dict[str, Any] | None:
    """A success rate corrected for what is known of the verifier's errors, as plain values.

    What was audited is the verifier by sensors.
    """
    found = audit(task, packs) if verified_by == "sensors only" else None
    result = rogan_gladen(successes, trials, found) if found else None
    if found is None or result is None:
        return None
    return {
        "success": result.rate,
        "ci95": [result.low, result.high],
        "audited": found.trials,
    }


def text(figures: Mapping[str, Any] | None) -> str:
    """What `corrected` gives, for a person; empty for None."""
    if figures is None:
        return ""
    low, high = figures["ci95"]
    rate = f"{figures['success']:.3f} [{low:.3f}, {high:.3f}]"
    return f"corrected for the verifier's errors {rate} ({figures['audited']} episodes audited)"
