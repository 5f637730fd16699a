"""Whether a policy's processors have the statistics that they normalise by.

LeRobot passes on unchanged what it has no statistics for: such a policy acts, on numbers of another
size than it learned on, and nobody hears of it. So it is refused here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from enpire.errors import PolicyError
from enpire.types import Flags, FloatArray

STEPS = ("normalizer_processor", "unnormalizer_processor")
NOTHING = 1e-8  # LeRobot adds so much to a spread: what is not more is rounding
LARGEST_EPS = 0.1  # that a spread is divided by more
FRACTIONS = (".mean", ".std")  # statistics that whole numbers would cut off
MODES = "normalization_mapping"
PASSED_ON = "IDENTITY"  # the mode of what is not normalised
MIDDLES = ("mean", "q01", "q10", "q50", "q90", "q99")  # statistics between the least and the most
SLACK = 0.05  # of an extent, by which statistics of parts of a dataset, put together, may be off
NARROWEST = 0.1  # of the way from q10 to q90: a spread is 0.22 of it or more, whatever the numbers
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
        there = _statistics(files, name, str(step.get("state_file") or ""))
        for feature, size in features.items():
            if not _takes(config, feature):
                continue
            about = declared[feature]
            needed = NEEDS.get(str(modes.get(about.get("type"), PASSED_ON)), ())
            for statistic in needed:
                _require(name, feature, size, statistic, there)
            _require_order(name, feature, needed, there)
            if needed:
                _require_possible(name, feature, there)
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


def require_same(
    files: Mapping[str, bytes], said: Mapping[str, Any], feature: str, mode: str | None
) -> None:
    """See whether all processors normalise `feature` by the same statistics.

    said: what each processor's file holds, by its name.

    Raises:
        PolicyError: two differ, so what was learned would come back as another number.
    """
    known: dict[str, tuple[str, FloatArray]] = {}
    for name, content in said.items():
        for step in content["steps"]:
            there = _statistics(files, name, str(step.get("state_file") or ""))
            for key in (f"{feature}.{each}" for each in NEEDS.get(str(mode), ())):
                if key not in there:
                    continue
                first, before = known.setdefault(key, (name, there[key]))
                if before.shape != there[key].shape or not np.allclose(before, there[key]):
                    raise PolicyError(
                        f"{first} and {name} have two values of {key}: what was learned would come "
                        "back as another number. Take both files from one training"
                    )


def require_steps(name: str, said: Any, modes: Mapping[str, str | None]) -> None:
    """See whether a processor normalises, once, what the config says is normalised.

    name, said: of its file, and what that holds. modes: of each feature, in the config.

    Raises:
        PolicyError: no step does, or several do, or one does so otherwise.
    """
    steps = [step for step in said["steps"] if step.get("registry_name") in STEPS]
    for feature, mode in modes.items():
        count = sum(_takes(step.get("config") or {}, feature) for step in steps)
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


def _takes(config: Mapping[str, Any], feature: str) -> bool:
    """Whether a step of this config normalises `feature`."""
    chosen = config.get("normalize_observation_keys")
    there = feature in (config.get("features") or {})
    return there and (chosen is None or feature in (*chosen, "action"))


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


def _require_possible(name: str, feature: str, there: Mapping[str, Any]) -> None:
    """Raise PolicyError for statistics that no numbers have: a mean beyond their ends, for one."""
    keys = {each: f"{feature}.{each}" for each in (*EXTENT, *MIDDLES)}
    of = {each: np.ravel(there[key]) for each, key in keys.items() if key in there}
    if len({len(values) for values in of.values()}) != 1:
        return
    wrong: dict[str, Flags] = {}  # by what would have to hold
    if {"min", "max"} <= of.keys():
        low, high = of["min"], of["max"]
        slack = SLACK * abs(high - low) + 1e-3 * np.maximum(abs(low), abs(high)) + NOTHING
        for each in (each for each in MIDDLES if each in of):
            wrong[f"{each} between min and max"] = (of[each] < low - slack) | (
                of[each] > high + slack
            )
        if "std" in of:
            wrong["std at most half of the way from min to max"] = (
                of["std"] > (high - low) / 2 + slack
            )
    if {"std", "q10", "q90"} <= of.keys():
        wrong["std a fifth of the way from q10 to q90 at least"] = (
            of["std"] < NARROWEST * (of["q90"] - of["q10"]) - NOTHING
        )
    for rule, entries in wrong.items():
        if entries.any():
            entry = int(np.flatnonzero(entries)[0])
            told = ", ".join(f"{each} {values[entry]:.4g}" for each, values in of.items())
            raise PolicyError(
                f"{name} has statistics of {feature} that no dataset has: entry {entry} has "
                f"{told}, and {rule} is needed. Save the policy again with those of its dataset"
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
