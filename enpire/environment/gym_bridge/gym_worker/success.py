"""What an environment says of a step, and of success."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .values import NUMBERS, masked
from .words import KEYS, LARGEST, Misfit, short

SAYS = ("is_success", "success", "succeed")  # of an info, what says whether it was a success


def step_message(
    reward: Any, terminated: Any, truncated: Any, success: Sequence[tuple[str, Any]]
) -> dict[str, Any]:
    """What came of a step. success: see `success_claims`.

    `unclear` is a success that is neither true nor false: whether it counts, its rule knows.

    Raises:
        Misfit: any of the others makes no sense.
    """
    try:
        plain = np.asarray(reward).reshape(())
        if plain.item() is None or plain.dtype.kind not in NUMBERS or masked(reward):
            raise TypeError
        number = float(plain.astype(np.float64))
    except (TypeError, ValueError, OverflowError):
        raise Misfit(f"its reward is {short(reward)}: a number is needed") from None
    if not abs(number) <= LARGEST:
        raise Misfit(f"its reward is {number}")
    found: dict[str, Any] = {
        "reward": number,
        "terminated": flag("terminated", terminated),
        "truncated": flag("truncated", truncated),
        "success": None,  # of one that is not told, too
    }
    try:
        found["success"] = agreed(success)
    except Misfit as misfit:
        found["unclear"] = str(misfit)
    return found


def flag(name: str, value: Any) -> bool:
    """A truth value, or a number 0 or 1; raises Misfit for anything else."""
    try:
        plain = np.asarray(value).reshape(()).item()
    except ValueError:
        plain = None
    if masked(value) or not isinstance(plain, (bool, int, float)) or plain not in (0, 1):
        raise Misfit(f"{name} is {short(value)}: true or false is needed, or 1 or 0")
    return bool(plain)


def agreed(success: Sequence[tuple[str, Any]]) -> bool | None:
    """Whether it was a success, by the first of what an info says; None if it says nothing.

    Raises:
        Misfit: that is neither true nor false, or another key says the contrary.
    """
    if not success:
        return None
    first, value = success[0]
    found = flag(first, value)
    for key, other in success[1:]:
        try:
            contrary = flag(key, other) != found
        except Misfit:  # of another meaning
            continue
        if contrary:
            raise Misfit(f"{first} is {found} and {key} is {not found}: --success info:KEY tells")
    return found


def achieved(success: Sequence[tuple[str, Any]]) -> bool:
    """Whether a reset says that it is a success already, before anything was done."""
    try:
        return bool(agreed(success))
    except Misfit:  # neither true nor false: a step's counts, and no reset's
        return False


def known_keys(info: Any) -> list[str]:
    """Return the first of an info's keys, for a person who looks for one."""
    return [short(key) for key in list(info)[:KEYS]] if isinstance(info, dict) else []


def success_claims(info: Any, keys: Sequence[str]) -> list[tuple[str, Any]]:
    """Return by which of `keys` an info says whether it was a success, and what."""
    if not isinstance(info, dict):
        raise Misfit(f"its info is {short(info)}, and no dictionary")
    return [(key, info[key]) for key in keys if info.get(key) is not None]


def success_claims_of(
    infos: dict[str, Any], row: int, keys: Sequence[str]
) -> list[tuple[str, Any]]:
    """The same of one environment of a vector; the key `_KEY` tells who says KEY at all."""
    if "final_info" in infos and infos["_final_info"][row]:  # it has reset itself in this step
        return success_claims_of(infos["final_info"], row, keys)
    there = [k for k in keys if k in infos and ("_" + k not in infos or infos["_" + k][row])]
    return [(key, infos[key][row]) for key in there if infos[key][row] is not None]
