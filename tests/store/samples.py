"""A plain episode for tests, and equality to the last bit."""

from __future__ import annotations

import math
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np
import zarr

from enpire.store.archive import pack
from enpire.store.episodes import read_files
from enpire.types import Episode, Outcome, Predicate, Purpose, Times, Verdict


def episode(id: str = "e1", length: int = 5, **changes: Any) -> Episode:
    """A successful episode of `length` rows; its numbers follow from its id."""
    rng = np.random.default_rng(list(id.encode()))
    values: dict[str, Any] = {
        "id": id,
        "task": "zip_tie",
        "seed": 2**63 - 1,
        "purpose": Purpose.COLLECTION,
        "policy": "p0",
        "round": 1,
        "station": 0,
        "verdict": Verdict(
            Outcome.SUCCESS,
            (Predicate("gap", 0.001, 0.002, "m", at_least=False),),
            1.0,
            "done",
            "ok",
        ),
        "times": Times(1.0, 2.0, 0.5),
        "observations": rng.standard_normal((length, 6), dtype=np.float32),
        "actions": rng.standard_normal((length, 3), dtype=np.float32),
        "stamps": np.arange(length) * 0.02,
        "rewards": np.zeros(length, np.float32),
        "packs": {"task": "ab" * 32},
    }
    return Episode(**values | changes)


def same(a: Any, b: Any) -> bool:
    """Equality to the last bit, NaN equal to itself, through dataclasses and containers."""
    if isinstance(a, np.ndarray):
        return bool(a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes())
    if is_dataclass(a):
        return (isinstance(a, type(b)) or isinstance(b, type(a))) and all(
            same(getattr(a, f.name), getattr(b, f.name)) for f in fields(a)
        )
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, float) and math.isnan(a):
        return math.isnan(b)
    return bool(a == b)


def group(batch: Path) -> zarr.Group:
    """A batch as any program opens it that knows zarr."""
    return zarr.open_group(zarr.storage.ZipStore(batch, mode="r"), mode="r")


def alter(batch: Path, name: str, content: bytes | None) -> None:
    """Give a batch other content of one of its files, or none, in an archive that is in order."""
    files = read_files(batch)
    del files[name]
    batch.write_bytes(pack(files if content is None else {**files, name: content}))


def as_folder(batch: Path) -> Path:
    """Make a batch a folder, as all were until version 4 of the ledger."""
    files = read_files(batch)
    folder = batch.with_suffix("")
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    batch.unlink()
    return folder
