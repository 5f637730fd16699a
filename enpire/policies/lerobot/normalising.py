"""Whether a policy's processors have the statistics that they normalise by.

LeRobot passes on unchanged what it has no statistics for: such a policy acts, on numbers of another
size than it learned on, and nobody hears of it. So it is refused here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from enpire.errors import PolicyError

STEPS = ("normalizer_processor", "unnormalizer_processor")
NEEDS = {  # of a mode, the statistics that it takes
    "MEAN_STD": ("mean", "std"),
    "MIN_MAX": ("min", "max"),
    "QUANTILES": ("q01", "q99"),
    "QUANTILE10": ("q10", "q90"),
}


def require_statistics(
    files: Mapping[str, bytes], name: str, said: Any, features: Mapping[str, int]
) -> None:
    """See whether a processor has what it normalises `features` by.

    name, said: of its file, and what that holds. features: each one's entries.

    Raises:
        PolicyError: statistics are missing, of another width, or no numbers.
    """
    for step in said["steps"]:
        if step.get("registry_name") not in STEPS:
            continue
        config = step.get("config") or {}
        modes, declared = config.get("norm_map") or {}, config.get("features") or {}
        chosen = config.get("normalize_observation_keys")
        there = _statistics(files, name, str(step.get("state_file") or ""))
        for feature, size in features.items():
            about = declared.get(feature)
            if about is None or (chosen is not None and feature not in (*chosen, "action")):
                continue
            needed = NEEDS.get(str(modes.get(about.get("type"), "IDENTITY")), ())
            for statistic in needed:
                _require(name, feature, size, statistic, there)


def _require(name: str, feature: str, size: int, statistic: str, there: Mapping[str, Any]) -> None:
    key = f"{feature}.{statistic}"
    if key not in there:
        others = sorted({each.rsplit(".", 1)[0] for each in there})
        raise PolicyError(
            f"{name} has no statistics for {feature} ({key}), but for "
            f"{', '.join(others) or 'nothing'}: LeRobot would pass it on as it is. Save the policy "
            "again with the statistics of the dataset that it was trained on"
        )
    values = np.asarray(there[key], np.float64).ravel()
    if len(values) not in (1, size):
        raise PolicyError(f"{name} has {key} of {len(values)} entries, and {feature} has {size}")
    if not np.isfinite(values).all():
        raise PolicyError(f"{name} has {key} that is no finite number")


def _statistics(files: Mapping[str, bytes], name: str, file: str) -> dict[str, Any]:
    """By `FEATURE.STATISTIC`; none where a step keeps none."""
    from safetensors import SafetensorError
    from safetensors.torch import load

    if not file:
        return {}
    if file not in files:
        raise PolicyError(f"{name} keeps its statistics in {file}, which is missing")
    try:
        return {key: tensor.double().numpy() for key, tensor in load(files[file]).items()}
    except (SafetensorError, ValueError) as error:
        raise PolicyError(f"{file}, of {name}, cannot be read: {error}") from error
