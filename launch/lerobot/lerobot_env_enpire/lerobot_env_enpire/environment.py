"""One station of a task, with what LeRobot's `rollout` asks an environment for."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from numpy.typing import NDArray

import enpire.gymnasium  # noqa: F401  before MuJoCo is: it says how to render
from enpire.datasets.pictures import Cameras
from enpire.environment.core.policy_cameras import TwinFrameCapture
from enpire.gymnasium.environment import TaskEnv

Seen = dict[str, Any]


class LeRobotTask(gymnasium.Env[Seen, NDArray[np.float32]]):
    """`TaskEnv` whose observations are called as LeRobot's `preprocess_observation` expects.

    `info` of the last step holds `is_success`: the verdict of enpire's verifier.
    """

    def __init__(self, task: str, images: int, width: int, height: int, film: str) -> None:
        """See `EnpireEnv`."""
        self._env = TaskEnv(task)
        stations = self._env.stations
        self.metadata = {
            "render_modes": ["rgb_array"],
            "render_fps": self._env.metadata["render_fps"],
        }
        self.render_mode = "rgb_array"
        self.task = stations.name
        self.task_description = stations.task.instruction
        self._max_episode_steps = stations.execute_periods
        self.action_space = self._env.action_space
        state = self._env.observation_space
        self._frame_capture = (
            TwinFrameCapture(stations.task, stations.sensors, images) if images else None
        )
        spaces: dict[str, gymnasium.Space[Any]] = {"agent_pos": state, "environment_state": state}
        if self._frame_capture is not None:
            policy_cameras = self._frame_capture.policy_cameras
            picture = gymnasium.spaces.Box(0, 255, (images, images, 3), np.uint8)
            spaces = {
                "agent_pos": gymnasium.spaces.Box(
                    -np.inf, np.inf, (len(policy_cameras.felt),), np.float32
                ),
                "pixels": gymnasium.spaces.Dict(dict.fromkeys(policy_cameras.cameras, picture)),
            }
        self.observation_space = gymnasium.spaces.Dict(spaces)
        self._film = film
        self._filming: Cameras | None = None
        self._size = height, width

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Seen, dict[str, Any]]:
        """See `TaskEnv.reset`."""
        super().reset(seed=seed)
        observation, info = self._env.reset(seed=seed)
        return self._seen(observation), info

    def step(self, action: NDArray[np.float32]) -> tuple[Seen, float, bool, bool, dict[str, Any]]:
        """See `TaskEnv.step`."""
        observation, reward, terminated, truncated, info = self._env.step(action)
        told = {"is_success": bool(info.get("is_success", False))}  # in every step, of one type
        return self._seen(observation), reward, terminated, truncated, told

    def render(self) -> NDArray[np.uint8]:
        """The camera of videos."""
        if self._filming is None:
            self._filming = Cameras(self._env.stations, [self._film], *self._size)
        picture: NDArray[np.uint8] = self._filming.look([self._film])[self._film]
        return picture

    def close(self) -> None:
        """End what is under way."""
        if self._filming is not None:
            self._filming.close()
            self._filming = None
        if self._frame_capture is not None:
            self._frame_capture.close()
        self._env.close()

    def _seen(self, observation: NDArray[np.float32]) -> Seen:
        if self._frame_capture is None:
            return {"agent_pos": observation, "environment_state": observation}
        policy_cameras, pictures = (
            self._frame_capture.policy_cameras,
            self._frame_capture.capture(0).result(),
        )
        shown = dict(zip(policy_cameras.cameras, pictures, strict=True))
        return {"agent_pos": observation[list(policy_cameras.felt)], "pixels": shown}
