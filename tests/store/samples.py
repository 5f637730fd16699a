"""A plain episode for tests, and equality to the last bit."""

from __future__ import annotations

import math
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

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
