"""A run's result as JSON."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from enpire.errors import StoreError


def result_bytes(result: Mapping[str, Any]) -> bytes:
    """Return what `result.json` holds; raises StoreError for what JSON has no word for."""
    return json.dumps(_plain(result), indent=2, allow_nan=False).encode() + b"\n"


def _plain(value: Any) -> Any:
    """JSON values for numpy's numbers and arrays, null for what is not finite."""
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | np.ndarray):
        return [_plain(item) for item in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, Path):
        return str(value)
    raise StoreError(f"a result cannot hold {value!r} ({type(value).__name__})")
