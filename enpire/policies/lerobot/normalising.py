"""Whether a policy's processors have the statistics that they normalise by.

LeRobot passes on unchanged what it has no statistics for: such a policy acts, on numbers of another
size than it learned on, and nobody hears of it. So it is refused here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from enpire.errors import PolicyError
from enpire.types import FloatArray

STEPS = ("normalizer_processor", "unnormalizer_processor")
NOTHING = 1e-8  # LeRobot adds so much to a spread: what is not more is rounding
LARGEST_EPS = 0.1  # that a spread is divided by more
FRACTIONS = (".mean", ".std")  # statistics that whole numbers would cut off
MODES = "normalization_mapping"
PASSED_ON = "IDENTITY"  # the mode of what is not normalised
EXTENT = ("min", "max", "mean", "std")  # statistics that tell how far values go
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
            _require_order(name, feature, needed, there)
        eps = config.get("eps", 0.0)
        if not 0.0 <= eps <= LARGEST_EPS:
            raise PolicyError(f"{name} normalises with eps = {eps}: 0 to {LARGEST_EPS:g} is taken")


def extent(
    files: Mapping[str, bytes], name: str, said: Any, feature: str
) -> tuple[FloatArray, FloatArray] | None:
    """From where to where a feature's entries go, by a processor's statistics; None without any.

    Where only mean and deviation are kept, two deviations about the mean.
    """
    for step in said["steps"]:
        there = _statistics(files, name, str(step.get("state_file") or ""))
        told = {key: there.get(f"{feature}.{key}") for key in EXTENT}
        of = {key: np.atleast_1d(values) for key, values in told.items() if values is not None}
        if {"min", "max"} <= of.keys():
            return of["min"], of["max"]
        if {"mean", "std"} <= of.keys():
            return of["mean"] - 2 * of["std"], of["mean"] + 2 * of["std"]
    return None


def require_steps(name: str, said: Any, modes: Mapping[str, str | None]) -> None:
    """See whether a processor normalises, once, what the config says is normalised.

    name, said: of its file, and what that holds. modes: of each feature, in the config.

    Raises:
        PolicyError: no step does, or several do, or one does so otherwise.
    """
    steps = [step for step in said["steps"] if step.get("registry_name") in STEPS]
    for feature, mode in modes.items():
        count = sum(feature in ((step.get("config") or {}).get("features") or {}) for step in steps)
        if count > 1 or (not count and NEEDS.get(str(mode))):
            how = "several times" if count else "nowhere"
            raise PolicyError(
                f"{name} normalises {feature} {how}, and the config says {mode}: LeRobot would "
                "act on numbers of another size. Save the policy again, with its processors"
            )
        for config in (step.get("config") or {} for step in steps):
            about = (config.get("features") or {}).get(feature)
            done = about and (config.get("norm_map") or {}).get(about.get("type"))
            if done and done != (mode or PASSED_ON):
                raise PolicyError(
                    f"{name} normalises {feature} by {done}, and {MODES} of the config says "
                    f"{mode or 'nothing of it'}: it learned on one of them. Save the policy again, "
                    "with its processors"
                )


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
    if len(values) != size:
        raise PolicyError(f"{name} has {key} of {len(values)} entries, and {feature} has {size}")
    if not np.isfinite(values).all():
        raise PolicyError(f"{name} has {key} that is no finite number")


def _require_order(name: str, feature: str, needed: tuple[str, ...], there: Any) -> None:
    """Raise PolicyError for a spread below nought, a range backwards, or no spread at all."""
    if not needed:
        return
    first, last = (np.asarray(there[f"{feature}.{each}"], np.float64).ravel() for each in needed)
    spread = last if needed == NEEDS["MEAN_STD"] else last - first
    if (spread < 0).any() or not (spread > NOTHING).any():
        raise PolicyError(
            f"{name} has {feature}.{needed[-1]} of {', '.join(f'{v:g}' for v in last[:6])}: a "
            f"spread below nought, or none at all, is none of a dataset's ({feature}.{needed[0]})"
        )


def _statistics(files: Mapping[str, bytes], name: str, file: str) -> dict[str, Any]:
    """The statistics by `FEATURE.STATISTIC`; none where a step keeps none."""
    from safetensors import SafetensorError
    from safetensors.torch import load

    if not file:
        return {}
    if file not in files:
        raise PolicyError(f"{name} keeps its statistics in {file}, which is missing")
    try:
        found = load(files[file])
        whole = [n for n, t in found.items() if n.endswith(FRACTIONS) and not t.is_floating_point()]
        if whole:
            raise PolicyError(f"{file}, of {name}, has {whole[0]} in whole numbers")
        return {key: tensor.double().numpy() for key, tensor in found.items()}
    except (SafetensorError, ValueError) as error:
        raise PolicyError(f"{file}, of {name}, cannot be read: {error}") from error
