"""What policies that see by cameras are shown when they are asked for a chunk."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from torch import Tensor

from enpire.environment import StationBackend
from enpire.errors import PolicyError
from enpire.policies.policy_runner import Chunked, PolicyController, PolicyState
from enpire.types import Float32Array, Image

LONGEST = 8  # control periods between pictures, so that of a long chunk too there are some to learn


@dataclass(frozen=True, slots=True)
class ObservationMask:
    """What a policy sees of what stations show; of who sees nothing by cameras it is all of it."""

    cameras: tuple[int, ...] = ()  # places of its cameras among theirs
    felt: tuple[int, ...] = ()  # entries of the observation that it may see beside them
    observation: int = 0  # entries of the whole of it

    def beside[A: (Float32Array, Tensor)](self, history: A) -> A:
        """The entries of observations (..., obs) that may be seen beside pictures."""
        return history[..., list(self.felt)] if self.cameras else history


NOTHING = ObservationMask()


def seen_there(stations: StationBackend, cameras: Sequence[str], size: int) -> ObservationMask:
    """What a policy with these `cameras`, or all of them, sees on these stations.

    size: of its pictures [px]; 0 for one that does not see.

    Raises:
        PolicyError: they show no pictures, others, or of another size.
    """
    if not size:
        return NOTHING
    policy_cameras = stations.policy_cameras
    if policy_cameras is None:
        raise PolicyError(
            f"the policy sees by cameras ({', '.join(cameras) or 'all'}), and nothing takes "
            f"pictures here: --images {size}"
        )
    cameras = cameras or policy_cameras.cameras
    if policy_cameras.size != size or not set(cameras) <= set(policy_cameras.cameras):
        raise PolicyError(
            f"the policy sees {size} px of {', '.join(cameras)}; pictures here have "
            f"{policy_cameras.size} px and are of {', '.join(policy_cameras.cameras)}"
        )
    places = tuple(policy_cameras.cameras.index(camera) for camera in cameras)
    return ObservationMask(places, policy_cameras.felt, stations.observation_size)


class SeeingController(PolicyController):
    """Shows each station's newest pictures to the policy, of as many periods as it looks back to.

    For these the station is not told its plan: it then asks, and takes pictures, period by period.

    looks: successive periods of which it is shown pictures; 0: it does not see.
    """

    def __init__(self, policy: Chunked, mask: ObservationMask, looks: int = 1) -> None:
        """Drive `policy`, with its weights as they are now, on any number of stations.

        looks: successive periods of which it is shown pictures, if it is shown any.
        """
        super().__init__(policy)
        self.seen = mask
        self._cameras = list(mask.cameras)
        self.looks = looks if mask.cameras else 0

    def new_episode(self, rng: np.random.Generator, exploration: float = 0.0) -> PolicyState:
        """See `PolicyController`."""
        state = super().new_episode(rng, exploration)
        state.pictures = deque(maxlen=self.looks)
        return state

    def look(self, row: int, pictures: Image) -> None:
        """See `VisionController`."""
        self._states[row].look(pictures)

    def due(self, row: int) -> bool:
        """See `VisionController`."""
        return len(self._states[row].chunk) < self.looks

    def plan(self, row: int) -> Float32Array:
        """The rest of a station's chunk, as far as no pictures are due."""
        if not self.looks:
            return super().plan(row)
        chunk = self._states[row].chunk
        count = min(max(len(chunk) - self.looks + 1, 0), LONGEST - 1)
        planned = [chunk.popleft() for _ in range(count)]
        return np.array(planned, np.float32).reshape(-1, self.spec.action)

    def felt(self, seen: Float32Array) -> Float32Array:
        """The entries of histories (m, history, obs) that the policy may see beside pictures."""
        return self.seen.beside(seen)

    def shown(self, states: Sequence[PolicyState]) -> Image | None:
        """Pictures of the episodes `states`, (m, looks, cameras, size, size, 3).

        Raises:
            PolicyError: one has not been shown any.
        """
        if not self._cameras:
            return None
        if any(len(one.pictures) < self.looks for one in states):
            raise PolicyError("a policy that sees was asked to act before it was shown a picture")
        return np.array([np.stack(one.pictures) for one in states])[:, :, self._cameras]
