"""A Gymnasium environment for tests, which a worker imports too: gymnasium and numpy only.

A point moves along a line to a goal and has 20 steps. `fault` names what it does at step 3.
`Lines-v0` is a vector of them.
"""

from __future__ import annotations

import os
import random
import time
from typing import Any

import gymnasium
import numpy as np

BOX = gymnasium.spaces.Box


class Line(gymnasium.Env[dict[str, np.ndarray], np.ndarray]):
    """Says `is_success` where the point is within 0.1 of the goal, and ends there."""

    metadata = {"render_modes": [], "render_fps": 10}  # noqa: RUF012  as Gymnasium's own
    observation_space = gymnasium.spaces.Dict(
        {"goal": BOX(-1, 1, (1,), np.float64), "point": BOX(-5, 5, (1,), np.float64)}
    )

    def __init__(self, fault: str = "", says: str = "is_success", discrete: bool = False) -> None:
        self._fault, self._says = fault, says
        self.action_space = BOX(0.0, 0.4, (1,), np.float32)
        if discrete:
            self.action_space = gymnasium.spaces.Discrete(2)

    def _observation(self) -> Any:
        return self._numbers()

    def _numbers(self) -> dict[str, np.ndarray]:
        return {"goal": np.array([self._goal]), "point": np.array([self._point])}

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self._goal, self._point, self._steps = self.np_random.uniform(-1, 1), 0.0, 0
        return self._observation(), {}

    def step(self, action: np.ndarray) -> Any:
        self._steps += 1
        if self._steps == 3:
            self._go_wrong()
        self._point += float(action[0]) - 0.2
        near = abs(self._point - self._goal) < 0.1
        info = {self._says: near} if self._says else {}
        return self._observation(), -abs(self._point - self._goal), near, self._steps >= 20, info

    def _go_wrong(self) -> None:
        if self._fault == "raise":
            raise RuntimeError("out of cheese")
        if self._fault == "die":
            os.write(2, b"warming up\nno more memory\n")
            os._exit(7)
        if self._fault == "hang":
            time.sleep(600)
        if self._fault == "print":
            print("chatter " * 1000, flush=True)


class Seen(Line):
    """Shows pictures too, or only them."""

    IMAGE = BOX(0, 255, (4, 4, 3), np.uint8)

    def __init__(self, only: bool = False) -> None:
        super().__init__()
        spaces = {} if only else {"numbers": Line.observation_space}
        views = gymnasium.spaces.Dict({"top": self.IMAGE})
        self.observation_space = gymnasium.spaces.Dict({"views": views, **spaces})

    def _observation(self) -> Any:
        picture = np.full((4, 4, 3), 200, np.uint8)
        return {"views": {"top": picture}, "numbers": self._numbers()}


class Early(Line):
    """Draws its start before it passes the seed on."""

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        start = self.np_random.uniform(-0.5, 0.5)
        super().reset(seed=seed)
        self._point = start
        return self._observation(), {}


class Shared(Line):
    """Draws its goal from a generator that belongs to nobody."""

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self._goal = np.random.uniform(-1, 1) * random.random()  # noqa: NPY002
        return self._observation(), {}


def lines(num_envs: int, autoreset_mode: str = "NextStep") -> Any:
    """A vector of lines."""
    return gymnasium.vector.SyncVectorEnv([Line] * num_envs, autoreset_mode=autoreset_mode)


def three_lines(num_envs: int) -> Any:
    """A vector that has a number of its own."""
    return lines(3)


class Tabled(Line):
    """Its seeds choose among goals that are drawn as it is made."""

    def __init__(self) -> None:
        super().__init__()
        self._goals = np.random.uniform(-1, 1, 50)  # noqa: NPY002

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self._goal = float(self.np_random.choice(self._goals))
        return self._observation(), {}


class Split(Line):
    """Shows what LeRobot makes a state and an environment's state of."""

    observation_space = gymnasium.spaces.Dict(
        {"environment_state": BOX(-1.0, 1.0, (2,), np.float64), "agent_pos": BOX(-9.0, 9.0, (1,))}
    )

    def _observation(self) -> Any:
        near = self._goal - self._point
        return {
            "environment_state": np.array([self._goal, near]),
            "agent_pos": np.array([self._point]),
        }


class Pixels(Split):
    """Takes actions from 0 to 512, as PushT."""

    def __init__(self) -> None:
        super().__init__()
        self.action_space = BOX(0.0, 512.0, (1,), np.float32)

    def step(self, action: np.ndarray) -> Any:
        return super().step(action * (0.4 / 512.0))


class Forgetful(gymnasium.vector.SyncVectorEnv):
    """Resets all of its environments whenever it resets one."""

    def __init__(self, num_envs: int) -> None:
        super().__init__([Line] * num_envs)

    def reset(self, *, seed: Any = None, options: Any = None) -> Any:
        return super().reset(seed=seed)


def _register(name: str, **kwargs: Any) -> None:
    gymnasium.register(f"toy/{name}-v0", entry_point=Line, kwargs=kwargs)


_register("Line")
_register("Success", says="success")
_register("Silent", says="")
_register("Discrete", discrete=True)
for _fault in ("raise", "die", "hang", "print"):
    _register(_fault.capitalize(), fault=_fault)
gymnasium.register("toy/Seen-v0", entry_point=Seen)
gymnasium.register("toy/Early-v0", entry_point=Early)
gymnasium.register("toy/Shared-v0", entry_point=Shared)
gymnasium.register("toy/Tabled-v0", entry_point=Tabled)
gymnasium.register("toy/Split-v0", entry_point=Split)
gymnasium.register("toy/Pixels-v0", entry_point=Pixels)
gymnasium.register("toy/Lines-v0", vector_entry_point=lines)
gymnasium.register("toy/ThreeLines-v0", vector_entry_point=three_lines)
gymnasium.register("toy/Forgetful-v0", vector_entry_point=Forgetful)
