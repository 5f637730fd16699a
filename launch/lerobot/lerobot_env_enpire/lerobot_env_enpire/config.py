"""The environment's config, by which LeRobot knows it and makes it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import gymnasium
from gymnasium.vector import AsyncVectorEnv, AutoresetMode, SyncVectorEnv, VectorEnv
from lerobot.configs import FeatureType, PolicyFeature
from lerobot.envs.configs import EnvConfig
from lerobot.envs.utils import freeze_after_episode_end
from lerobot.utils.constants import ACTION, OBS_ENV_STATE, OBS_IMAGES, OBS_STATE


@EnvConfig.register_subclass("enpire")
@dataclass
class EnpireEnv(EnvConfig):
    """A task pack of enpire, by name or folder; `NAME@start` is the start of the whole task.

    images: width and height of the pictures that a policy sees [px], as `--images` of enpire has
    them; without any it sees the state alone, which is an environment's state too. film: the camera
    of `eval`'s videos, of width x height pixels.
    """

    task: str | None = "pick_cube"
    fps: int = 0  # the task's own
    images: int = 0
    width: int = 320
    height: int = 240
    film: str = "front"

    def __post_init__(self) -> None:
        """Look at the task for its widths."""
        from enpire.environment.loading import load_task
        from enpire.packs import find

        if not self.task:
            raise ValueError("--env.task: which task, such as pick_cube?")
        task = load_task(find("tasks", self.task))
        if task.joint_actions is not None:
            raise ValueError(
                f"--env.task={self.task}: no environment of LeRobot's has motors in their units; "
                "enpire eval --policy DIR measures its policies there"
            )
        self.fps = round(task.control_hz)
        seen = (len(task.observation_names),)
        cameras: tuple[str, ...] = ()
        if self.images:
            from enpire.environment import build_stations
            from enpire.environment.core.policy_cameras import policy_cameras_of

            stations = build_stations(self.task, 1, 1)
            policy_cameras = policy_cameras_of(stations.task, stations.sensors, self.images)
            seen, cameras = (len(policy_cameras.felt),), policy_cameras.cameras
        self.features = {
            ACTION: PolicyFeature(FeatureType.ACTION, (task.actions.size,)),
            "agent_pos": PolicyFeature(FeatureType.STATE, seen),
        }
        self.features_map = {ACTION: ACTION, "agent_pos": OBS_STATE}
        if not self.images:
            self.features["environment_state"] = PolicyFeature(FeatureType.ENV, seen)
            self.features_map["environment_state"] = OBS_ENV_STATE
        for camera in cameras:
            name, shape = f"pixels/{camera}", (self.images, self.images, 3)
            self.features[name] = PolicyFeature(FeatureType.VISUAL, shape)
            self.features_map[name] = f"{OBS_IMAGES}.{camera}"

    @property
    def gym_kwargs(self) -> dict[str, Any]:
        """Of `make_task`."""
        return {
            "task": self.task,
            "images": self.images,
            "width": self.width,
            "height": self.height,
            "film": self.film,
        }

    def create_envs(
        self, n_envs: int, use_async_envs: bool = False
    ) -> dict[str, dict[int, VectorEnv[Any, Any, Any]]]:
        """Each on a twin of its own; one that is over stands still until the others are."""
        makers: list[Callable[[], gymnasium.Env[Any, Any]]] = [
            freeze_after_episode_end(partial(make_task, **self.gym_kwargs)) for _ in range(n_envs)
        ]
        made: VectorEnv[Any, Any, Any]
        if use_async_envs and n_envs > 1:
            how = AutoresetMode.SAME_STEP
            made = AsyncVectorEnv(makers, context="forkserver", autoreset_mode=how)
        else:
            made = SyncVectorEnv(makers, autoreset_mode=AutoresetMode.SAME_STEP)
        return {self.type: {0: made}}


def make_task(**how: Any) -> gymnasium.Env[Any, Any]:
    """The environment itself, which imports MuJoCo."""
    from lerobot_env_enpire.environment import LeRobotTask

    return LeRobotTask(**how)
