"""What a task declares, before anything is built of it: numbers, names and sizes that make sense.

A time limit of 0 would be a failure of every policy, and two entries of one name a policy that is
shown something else than it learned from.
"""

from __future__ import annotations

import math
from dataclasses import fields
from typing import Any

import numpy as np

from enpire.environment.control.cartesian_control import ActionSpec
from enpire.environment.control.sensing import SensorNoise
from enpire.environment.core.task import Task

LONGEST_S, FASTEST_HZ, STRONGEST_N = 3600.0, 1000.0, 1e3
LONGEST_EPISODE_S = 1000.0  # no ms: a task of 3 s is none of 3000
FARTHEST_M, WIDEST_RAD, LATEST_S = 0.2, math.pi, 1.0  # of a sensor's noise and latency
SLOWEST_M, FASTEST_M = 1e-6, 0.5  # in one control period
LIMITS = {  # of a number: its least, whether that is allowed, and its most
    "control_hz": (0.0, False, FASTEST_HZ),
    "time_limit": (0.0, False, LONGEST_EPISODE_S),
    "probe_limit": (0.0, True, LONGEST_S),
    "settle_limit": (0.0, True, LONGEST_S),
    "restore_limit": (0.0, False, LONGEST_S),
    "force_limit": (0.0, False, STRONGEST_N),
}
NOISE = {
    "position": FARTHEST_M,
    "position_bias": FARTHEST_M,
    "offset": FARTHEST_M,
    "rotation": WIDEST_RAD,
    "rotation_bias": WIDEST_RAD,
    "joint": WIDEST_RAD,
    "latency": LATEST_S,
    "delay": LATEST_S,
}
NAMES = ("tracked", "observation_names", "variation_names", "target_names")
TEXTS = ("robot", "world", "instruction")
LONGEST_TEXT = 1000  # letters: a page of them is no instruction


def nonsense(task: type[Task]) -> str:
    """What is wrong with a task's attributes, for a person; empty if nothing is.

    Args:
        task: The class, which has all that a task needs.

    Returns:
        The first of its attributes that makes no sense, its value, and what is needed.
    """
    for name in TEXTS:
        value: Any = getattr(task, name)
        if not isinstance(value, str) or not value.strip():
            return f"{name} is {value!r:.60}: a text is needed"
        if "{" in value:
            return f"{name} is {value!r:.60}: nothing stands for what is in braces"
        if not value.isprintable() or len(value) > LONGEST_TEXT:
            return (
                f"{name} is {value!r:.60}: a text of one line is needed, {LONGEST_TEXT} letters at "
                "most"
            )
    for name, (least, allowed, most) in LIMITS.items():
        value = getattr(task, name)
        if not _is_number(value) or not least <= value <= most or (value == least and not allowed):
            above = "from" if allowed else "above"
            return f"{name} is {value!r:.60}: a number {above} {least:g} to {most:g} is needed"
    if task.time_limit * task.control_hz < 1:
        return (
            f"time_limit is {task.time_limit:g} s, which is less than one control period "
            f"({1 / task.control_hz:g} s)"
        )
    return (
        _names(task)
        or _noise(task.noise)
        or _actions(task.actions)
        or _fixed_dims(task, task.fixed_action_dims)
    )


def _names(task: type[Task]) -> str:
    for name in NAMES:
        value: Any = getattr(task, name)
        if not isinstance(value, tuple | list) or not all(isinstance(n, str) for n in value):
            return f"{name} is {value!r:.60}: names in a tuple are needed"
        twice = [each for each in value if list(value).count(each) > 1]
        if twice:
            return f"{name} has {twice[0]} twice"
    if not task.observation_names:
        return "observation_names is empty: a policy would see nothing"
    strange = [name for name in task.target_names if name not in task.variation_names]
    if strange:
        return f"target_names has {strange[0]}, which is none of variation_names"
    return ""


def _noise(noise: Any) -> str:
    if not isinstance(noise, SensorNoise):
        return f"noise is {noise!r:.60}: a SensorNoise is needed"
    for name in (field.name for field in fields(noise)):
        value, most = getattr(noise, name), NOISE.get(name, STRONGEST_N)
        if not _is_number(value) or not 0 <= value <= most:
            return f"noise.{name} is {value!r:.60}: 0 to {most:g} is needed (m, rad, s, N)"
    return ""


def _actions(actions: Any) -> str:
    if not isinstance(actions, ActionSpec) or not actions.arms:
        return f"actions is {actions!r:.60}: an ActionSpec with an arm is needed"
    for name, value in (("lead", actions.lead), ("push", actions.push)):
        if not (_is_number(value) or value == math.inf) or value <= 0:
            return f"actions.{name} is {value!r:.20}: a number above 0 is needed"
    for number, arm in enumerate(actions.arms):
        for axis, step, low, high in zip("xyz", arm.translation, arm.low, arm.high, strict=True):
            where = f"actions.arms[{number}], {axis}"
            if not low <= high:
                return f"{where}: from {low!r:.20} to {high!r:.20} m, where nothing lies between"
            if _is_number(step) and step < 0:
                return f"{where}: a full action is {step:g} m: turn the axis where actions are made"
            if 0 < step < SLOWEST_M:
                return f"{where}: a full action is {step:g} m: no hand is seen to move by that"
            if not _is_number(step) or step > min(high - low, FASTEST_M):
                return (
                    f"{where}: a full action is {step!r:.20} m, and its whole range "
                    f"{high - low:g} m: metres in one control period are needed"
                )
        bad = [angle for angle in arm.rotation if not _is_number(angle) or abs(angle) > WIDEST_RAD]
        if bad:
            return f"actions.arms[{number}] turns by {bad[0]!r:.20} in a period: radians are needed"
    return ""


def _fixed_dims(task: type[Task], fixed: Any) -> str:
    name, size = "fixed_action_dims", task.actions.size
    if not isinstance(fixed, dict):
        return f"{name} is {fixed!r:.60}: entries of an action, and the value of each, are needed"
    for entry, value in fixed.items():
        if type(entry) is not int or not 0 <= entry < size:
            return f"{name} has entry {entry!r:.20}, and an action has 0 to {size - 1}"
        if not _is_number(value) or abs(value) > 1:
            return f"{name} has {value!r:.20} for entry {entry}: an action is in [-1, 1]"
    return ""


def _is_number(value: Any) -> bool:
    plain = isinstance(value, int | float | np.integer | np.floating)
    return plain and not isinstance(value, bool) and abs(value) < math.inf  # false of NaN, too
