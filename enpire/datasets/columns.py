"""What a LeRobot dataset has of an episode, column by column."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from enpire.environment import PolicyCameras
from enpire.environment.core.motors import Motors
from enpire.errors import StoreError
from enpire.types import Episode, Image, Outcome

STATE, ENVIRONMENT, ACTION = "observation.state", "observation.environment_state", "action"
OBSERVED = "observation."
PICTURES = "observation.images."  # and a camera's name
WHOLE = "privileged"  # the task's observation beside pictures: no policy of LeRobot's takes it
SUCCESS, SEED, POLICY = "success", "seed", "policy"
DONE, REWARD, PURPOSE = "next.done", "next.reward", "purpose"
STANDARD = {
    REWARD: "float32",
    "next.success": "bool",  # true at the last frame of a success, as LeRobot's own
    DONE: "bool",
    SUCCESS: "bool",  # of the whole episode, at each frame
    "verdict": "string",  # the outcome: success, failure, aborted
    PURPOSE: "string",
    POLICY: "string",  # the version that acted, or `demonstrator`
    "intervention": "bool",  # somebody else than the policy acted
    SEED: "int64",  # of the initial condition
}


@dataclass(frozen=True, slots=True)
class Layout:
    """What is alike in all episodes of a dataset.

    told: the task in words. names: of an observation's entries, of an action's. policy_cameras:
    what policies see by cameras, if they do. video: pictures are videos: smaller, and not quite
    what was seen. motors: where policies set joints; state and action are then theirs, as LeRobot
    has them.
    """

    fps: int
    told: str
    robot: str
    observation: tuple[str, ...]
    action: tuple[str, ...]
    policy_cameras: PolicyCameras | None = None
    video: bool = False
    motors: Motors | None = None

    @property
    def _axes(self) -> int:
        """How many entries of an observation are positions of motors: the first ones."""
        return 0 if self.motors is None else len(self.motors.keys)

    def features(self) -> dict[str, dict[str, Any]]:
        """The features as LeRobot's writer takes them.

        Without pictures what stations show is there twice: ACT and Diffusion refuse a dataset that
        has neither pictures nor the state of an environment. Beside pictures the state is what an
        arm feels. Of motors it is where they are, and of an environment all else.
        """
        policy_cameras, seen = (
            self.policy_cameras,
            {STATE: self.observation, ENVIRONMENT: self.observation},
        )
        pictures: dict[str, dict[str, Any]] = {}
        if policy_cameras is not None:
            picture = {
                "dtype": "video" if self.video else "image",
                "shape": (policy_cameras.size, policy_cameras.size, 3),
                "names": ["height", "width", "channels"],
            }
            pictures = {PICTURES + camera: picture for camera in policy_cameras.cameras}
            felt = tuple(self.observation[entry] for entry in policy_cameras.felt)
            seen = {STATE: felt, WHOLE: self.observation}
        acted = self.action
        if self.motors is not None:
            acted = seen[STATE] = self.motors.keys
            if ENVIRONMENT in seen:
                seen[ENVIRONMENT] = self.observation[len(acted) :]
        vectors = {**seen, ACTION: acted}
        return {
            **{
                name: {"dtype": "float32", "shape": (len(of),), "names": list(of)}
                for name, of in vectors.items()
            },
            **pictures,
            **{
                name: {"dtype": kind, "shape": (1,), "names": None}
                for name, kind in STANDARD.items()
            },
        }

    def frames(self, episode: Episode, pictures: Image | None = None) -> Iterator[dict[str, Any]]:
        """One row per control period; pictures: of each, (periods, cameras, size, size, 3).

        Raises:
            StoreError: the episode has other widths than this layout.
        """
        widths = episode.observations.shape[1], episode.actions.shape[1]
        if widths != (len(self.observation), len(self.action)):
            raise StoreError(
                f"episode {episode.id} has {widths[0]} observations and {widths[1]} actions a row, "
                f"others {len(self.observation)} and {len(self.action)}: export them apart"
            )
        whole = {
            SUCCESS: np.array([episode.success]),
            "verdict": str(episode.verdict.outcome),
            "purpose": str(episode.purpose),
            POLICY: episode.policy,
            SEED: np.array([episode.seed], np.int64),
            "task": self.told,
        }
        acted, moved = episode.actions, episode.observations
        if self.motors is not None:
            acted, moved = self.motors.told(acted), self.motors.positions(moved[:, : self._axes])
        for at in range(len(episode)):
            last = at == len(episode) - 1
            frame = {
                **whole,
                ACTION: acted[at],
                REWARD: episode.rewards[at : at + 1],
                "next.success": np.array([last and episode.success]),
                DONE: np.array([last]),
                "intervention": episode.intervened[at : at + 1],
            }
            whole_seen, state = episode.observations[at], moved[at]
            if self.policy_cameras is None:
                yield frame | {STATE: state, ENVIRONMENT: whole_seen[self._axes :]}
                continue
            shown = zip(
                self.policy_cameras.cameras, () if pictures is None else pictures[at], strict=True
            )
            if self.motors is None:
                state = whole_seen[list(self.policy_cameras.felt)]
            yield frame | {
                STATE: state,
                WHOLE: whole_seen,
                **{PICTURES + camera: picture for camera, picture in shown},
            }


def exportable(episode: Episode) -> bool:
    """Whether it has anything to show: what is void says nothing about a policy."""
    return len(episode) > 0 and episode.verdict.outcome is not Outcome.INVALID
