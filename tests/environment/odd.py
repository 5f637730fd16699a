"""Environments that are slightly wrong, by kind; a worker imports them: gymnasium and numpy only.

Each is the toy's line, whose point is to reach a goal. `at` is the episode of this process, from 0,
from which it is wrong; `until` the first that it is not any more.
"""

from __future__ import annotations

import os
import sys
from typing import Any

import gymnasium
import numpy as np

from tests.environment.toy import BOX, Line

STEP = 3  # at which it goes wrong
NAN = float("nan")
ONE = 3  # a seed
SUCCESS: dict[str, Any] = {
    "success_nan": NAN,
    "success_text": "False",
    "success_two": 2,
    "success_list": [True, False],
    "success_one": 1,
    "success_array": np.array([1.0]),
    "success_numpy": np.bool_(True),
}
REWARD: dict[str, Any] = {
    "reward_nan": NAN,
    "reward_infinite": float("inf"),
    "reward_none": None,
    "reward_text": "much",
    "reward_pair": np.zeros(2),
}
FLAG: dict[str, Any] = {"ended_nan": NAN, "ended_text": "False", "ended_none": None}
SEEN: dict[str, Any] = {
    "shorter": np.zeros(1),
    "longer": np.zeros(3),
    "flat": np.float64(0.0),
    "folded": np.zeros((1, 2)),
    "none": None,
    "text": "left",
    "ragged": [[0.0], [0.0, 1.0]],
    "seen_nan": np.array([0.0, NAN]),
    "seen_infinite": np.array([-np.inf, 0.0]),
    "words": np.array(["a", "b"]),
}
RATE: dict[str, Any] = {
    "rate_negative": -25,
    "rate_nothing": 0,
    "rate_text": "fast",
    "rate_nan": NAN,
    "rate_infinite": float("inf"),
    "rate_flag": True,
    "rate_list": [25],
}
RETURNED = {"old_step": 4, "old_reset": 1}


class Odd(Line):
    """Wrong in one way, `kind`, at step 3 of its episodes, or in their reset."""

    def __init__(self, kind: str = "", at: int = 0, until: int = 10**9) -> None:
        super().__init__()
        self._kind, self._wrong = kind, range(at, until)
        self._episode = -1
        self.observation_space = BOX(-5, 5, (2,), np.float64)
        if kind in RATE:
            self.metadata = {"render_modes": [], "render_fps": RATE[kind]}
        if kind == "no_action":
            self.action_space = BOX(0, 1, (0,), np.float32)
        if kind == "bare_action":
            self.action_space = BOX(0.0, 0.4, (), np.float32)
        if kind == "nothing_seen":
            self.observation_space = BOX(-5, 5, (0,), np.float64)

    def _observation(self) -> Any:
        seen = np.array([self._goal, self._point])
        if self._kind == "reset_shorter":
            return seen[:1]
        if self._kind == "varying":
            return seen[: 1 + self._steps % 2]
        return SEEN.get(self._kind, seen) if self._off else seen

    @property
    def _off(self) -> bool:
        return self._steps >= STEP and self._episode in self._wrong

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        if self._episode < 0 or self._steps:  # a reset that only looks begins none
            self._episode += 1
        if self._kind == "reset_raises" and self._episode in self._wrong:
            raise RuntimeError("no scene")
        if self._kind == "one_seed" and seed == ONE:
            raise RuntimeError("no scene of this seed")
        result = super().reset(seed=seed)
        return result[0] if self._kind == "old_reset" else result

    def step(self, action: np.ndarray) -> Any:
        seen, reward, _, _, _ = super().step(np.atleast_1d(action))
        over = self._steps >= 8
        info: dict[str, Any] = {"is_success": over and self._kind not in SUCCESS}
        if self._kind in SUCCESS:
            info["is_success"] = SUCCESS[self._kind]
        if self._kind == "in_the_middle":
            info["is_success"] = self._steps == STEP
        if self._kind == "other_key":
            info = {"solved": over}
        if self._kind == "succeed":
            info = {"succeed": over}
        if self._off:
            self._break()
            reward = REWARD.get(self._kind, reward)
            over = FLAG.get(self._kind, over)
            info = ["no", "info"] if self._kind == "info_list" else info  # type: ignore[assignment]
        result = (seen, reward, over, False, info)
        return (seen, reward, over, info) if self._kind == "old_step" else result

    def _break(self) -> None:
        if self._kind == "raises":
            raise RuntimeError("out of cheese")
        if self._kind == "asserts":
            assert self._steps < 0  # the message is empty, as in many
        if self._kind == "exits":
            sys.exit(0)
        if self._kind == "exits_as_a_budget":
            os._exit(3)
        if self._kind == "crashes":
            os.abort()


gymnasium.register("odd/Line-v0", entry_point=Odd, disable_env_checker=True)
gymnasium.register("odd/Checked-v0", entry_point=Odd)
