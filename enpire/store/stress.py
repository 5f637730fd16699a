"""What `enpire stress` measured of a run's policies: a file each, `stress/<policy>.json`.

No ledger row goes with it: it can be measured again. So it needs no writer's lock, and may be
written while a loop goes on; the last one that writes a policy's file wins.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from enpire.errors import StoreError
from enpire.json_text import loads
from enpire.store.durable import disk_errors, make_folder, publish_file
from enpire.store.layout import RESULT
from enpire.store.run import Run
from enpire.store.run_folder import under_way

STRESS = "stress"
HASH = "sha256_of_this"  # of all else in a file
SAME = ("task", "sha256", "packs", "verified_by")  # of two measurements that belong together


def read_stress(folder: Path, policy: str = "") -> dict[str, dict[str, Any]]:
    """What was measured of each policy of the run in `folder`, by name; or of one alone.

    Raises:
        StoreError: a file does not parse, or is not what was written.
    """
    found = {}
    for path in sorted((folder / STRESS).glob(f"{policy or '[!.]*'}.json")):
        try:
            text = path.read_text(encoding="utf-8")
            content = dict(loads(text))
        except (OSError, TypeError, ValueError) as error:
            raise StoreError(
                f"{path} does not parse ({error}): remove it, and measure again with enpire stress"
            ) from error
        kept = content.pop(HASH, None)
        if kept is None or text != _text(content):
            why = "it has no sha256" if kept is None else "its sha256 differs"
            raise StoreError(
                f"{path} is not what was written ({why}): "
                "remove it, and measure again with enpire stress"
            )
        found[path.stem] = content
    return found


def lost_stress(folder: Path) -> list[str]:
    """Return the files in a run's folder that its `result.json` tells of and that are not there.

    None where that file does not parse: what is wrong with it is told elsewhere.
    """
    try:
        told = sorted(loads((folder / RESULT).read_text(encoding="utf-8")).get(STRESS, {}))
    except (OSError, ValueError, AttributeError, TypeError):
        return []
    names = [f"{STRESS}/{policy}.json" for policy in told]
    return [name for name in names if not (folder / name).is_file()]


def _result(path: Path) -> dict[str, Any]:
    try:
        return dict(loads(path.read_text(encoding="utf-8")))
    except (OSError, TypeError, ValueError) as error:
        raise StoreError(
            f"{path} does not parse ({error}): enpire loop --resume writes it again; what was "
            f"measured is in {path.parent / STRESS}"
        ) from error


def _text(content: Mapping[str, Any]) -> str:
    """What a file holds, with a hash over the rest of it."""
    sha256 = hashlib.sha256(json.dumps(content, allow_nan=False).encode()).hexdigest()
    return json.dumps({**content, HASH: sha256}, indent=1, allow_nan=False) + "\n"


def keep_stress(folder: Path, policy: str, measured: Mapping[str, Any]) -> Path:
    """Keep what was measured of a policy, in its file and in a finished run's `result.json`.

    measured: plain values; its `points` are rows with the name of the `point`. Rows of other points
    that were kept before stay, where policy, packs and verifier were the same.

    Raises:
        StoreError: it cannot be written.
    """
    before = read_stress(folder).get(policy, {})
    points = {row["point"]: row for row in measured["points"]}
    if all(before.get(key) == measured[key] for key in SAME):
        points = {row["point"]: row for row in before["points"]} | points
    path = folder / STRESS / f"{policy}.json"
    with disk_errors(path):
        make_folder(path.parent)
    content = {**measured, "points": list(points.values())}
    publish_file(path, _text(content).encode())
    if (folder / RESULT).is_file() and not under_way(folder):
        with Run.open(folder, writable=True) as run:
            run.write_result({**_result(folder / RESULT), "stress": read_stress(folder)})
    return path
