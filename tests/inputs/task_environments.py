"""Tasks as Gymnasium environments, slightly wrong: what is handed to a step and to a reset."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

from enpire.environment import Stations
from enpire.environment.core import policy_watch
from enpire.gymnasium import environment
from enpire.gymnasium.environment import TaskEnv, TaskVectorEnv
from tests.environment.reach import reach_stations
from tests.inputs.entry import REFUSED, TAKEN, TOLD, Input

OFTEN = 60  # steps, of which enough are odd


def build(task: str, stations: int, threads: int = 0) -> Stations:
    """The smallest task, whatever it is called."""
    return reach_stations(stations, threads)


def made(kind: Callable[..., Any], **given: Any) -> Any:
    """An environment of it."""
    with patch.object(environment, "build_stations", build):
        return kind("reach", **given)


@cache
def single() -> TaskEnv:
    return made(TaskEnv)


@cache
def pair() -> TaskVectorEnv:
    return made(TaskVectorEnv, num_envs=2)


def step(name: str, action: Any, words: str, ends: str = REFUSED, times: int = 1) -> Input:
    """An entry: what one station is told to do."""

    def give(_: Path) -> tuple[str, str]:
        told: list[str] = []
        with patch.object(
            policy_watch.LOG, "warning", lambda text, *args: told.append(text % args)
        ):
            for seed in range(times):
                single().reset(seed=seed)
                single().step(action)
        return (TOLD if told else TAKEN), "; ".join(told)

    return Input(f"acts by {name}", give, words, ends)


def steps(name: str, actions: Any, words: str, ends: str = REFUSED) -> Input:
    """An entry: what two stations are told to do."""

    def give(_: Path) -> tuple[str, str]:
        pair().reset(seed=1)
        return TAKEN, str(pair().step(actions)[0].shape)

    return Input(f"two act by {name}", give, words, ends)


def seed(name: str, value: Any, words: str, ends: str = REFUSED, of: Any = single) -> Input:
    """An entry: what fixes an episode."""
    return Input(f"a seed {name}", lambda _: (TAKEN, str(of().reset(seed=value)[1])), words, ends)


def begun(name: str, words: str, **given: Any) -> Input:
    """An entry: how an environment is made."""
    return Input(f"made with {name}", lambda _: (TAKEN, str(made(TaskEnv, **given))), words)


NOUGHT = np.zeros(7, np.float32)
FINITE, WHOLE = "is no finite number", "a whole number from 0 to"
ALL = (
    step("nothing", NOUGHT, "^$", TAKEN),
    step("a list", [0.0] * 7, "^$", TAKEN),
    step("whole numbers", np.ones(7, int), "^$", TAKEN),
    step("double precision", NOUGHT.astype(float), "^$", TAKEN),
    step("NaN", NOUGHT * np.nan, f"entry 0 of an action {FINITE}"),
    step("infinity", np.r_[NOUGHT[:6], np.inf], f"entry 6 of an action {FINITE}"),
    step("one number", 0.5, r"has shape \(\), and \(7,\) is needed"),
    step("one entry", NOUGHT[:1], r"has shape \(1,\)"),
    step("a batch of one", NOUGHT[None], r"has shape \(1, 7\)"),
    step("too few", NOUGHT[:3], r"has shape \(3,\)"),
    step("text", "left", "is of str"),
    step("None", None, "is of object"),
    step("a dictionary", {"left": NOUGHT}, "is of object"),
    step("truths", NOUGHT == 0.0, "is of bool: finite numbers are needed"),
    step("complex numbers", NOUGHT + 1j, "is of complex"),
    step("a mask", np.ma.array(NOUGHT, mask=NOUGHT == 0.0), "is of a mask"),
    step("degrees", NOUGHT + 57.3, "of its .* actions are beyond .-1, 1.", TOLD, OFTEN),
    step("1e300", np.full(7, 1e300), "^$", TAKEN),
    steps("what is due", np.zeros((2, 7)), r"\(2, ", TAKEN),
    steps("one action", NOUGHT, r"has shape \(7,\), and \(2, 7\) is needed"),
    steps("one number", 0.5, r"has shape \(\)"),
    steps("three rows", np.zeros((3, 7)), r"has shape \(3, 7\)"),
    steps("NaN in a row", np.array([[0.0] * 7, [np.nan] * 7]), f"entry 1, 0 of an action {FINITE}"),
    seed("of a job", 2**63 - 1, "9223372036854775807", TAKEN),
    seed("below nought", -1, f"seed -1 is none: {WHOLE}"),
    seed("of 64 bits", 2**64, WHOLE),
    seed("of 400 digits", 10**400, WHOLE),
    seed("that is a half", 1.5, f"seed 1.5 is none: {WHOLE}"),
    seed("in words", "1", f"seed '1' is none: {WHOLE}"),
    seed("that is true", True, f"seed True is none: {WHOLE}"),
    seed("below nought among others", [1, -1], f"seed -1 is none: {WHOLE}", of=pair),
    seed("of NumPy", np.int64(3), WHOLE),
    begun("a mode of others", "render_mode is 'human': None or rgb_array", render_mode="human"),
    begun("no width", "width is 0: 1 to 4096 pixels", width=0),
    begun("half a pixel", "height is 64.5: 1 to 4096 pixels", height=64.5),
    begun("a wall of pixels", "width is 100000: 1 to", width=100_000),
)
